-- settle_done: moves finished work to the history, fenced by (id, epoch). Jobs of groups go another way.
-- Differs from postgres: the history is the same table; the fences travel as one JSON object, {seq: "id:epoch"}.
UPDATE tenure_jobs
SET state = 'done', lease_until = NULL, finished_at = :now, outcome = 'done', settled_epoch = tenure_jobs.epoch,
    error = NULL, reason = NULL, result = NULL, doubt = NULL, was = NULL
FROM json_each(:fences) c
WHERE tenure_jobs.seq = CAST(c.key AS INTEGER) AND tenure_jobs.state = 'running'
  AND tenure_jobs.id || ':' || tenure_jobs.epoch = c.value
