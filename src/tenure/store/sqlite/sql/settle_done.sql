-- settle_done: moves finished work to the history, fenced by (id, epoch). Jobs of groups go another way.
-- Differs from postgres: the history is the same table; runs once a row, in process.
UPDATE tenure_jobs
SET state = 'done', lease_until = NULL, finished_at = :now, outcome = 'done', settled_epoch = epoch, error = NULL,
    reason = NULL, result = :result
WHERE seq = :seq AND id = :id AND epoch = :epoch AND state = 'running'
