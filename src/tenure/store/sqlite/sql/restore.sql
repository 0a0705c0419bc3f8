-- restore: jobs that were discarded are dead again, as they were.
UPDATE tenure_jobs
SET state = json_extract(was, '$.state'), finished_at = json_extract(was, '$.finished_at'), reason = json_extract(was, '$.reason'),
    was = NULL
WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND state = 'cancelled' AND was IS NOT NULL
