-- settle_done_results: settle_done where there are results to keep; runs once a row.
-- Only on sqlite: see settle_done.
UPDATE tenure_jobs
SET state = 'done', lease_until = NULL, finished_at = :now, outcome = 'done', settled_epoch = epoch, error = NULL,
    reason = NULL, result = :result, doubt = NULL, was = NULL
WHERE seq = :seq AND id = :id AND epoch = :epoch AND state = 'running'
