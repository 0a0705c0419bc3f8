-- settle_done: moves finished work to the history, fenced by (id, epoch).
-- Differs from postgres: the history is the same table.
UPDATE tenure_jobs
SET state = 'done', lease_until = NULL, held = NULL, finished_at = :now, outcome = 'done', settled_epoch = epoch,
    error = NULL, reason = NULL, result = json_extract(c.value, '$.result')
FROM json_each(:claims) c
WHERE tenure_jobs.seq = json_extract(c.value, '$.seq') AND tenure_jobs.id = json_extract(c.value, '$.id') AND tenure_jobs.epoch = json_extract(c.value, '$.epoch')
  AND tenure_jobs.state = 'running'
