-- unreplay: jobs that were replayed and not claimed since are finished again, as they were.
-- Differs from postgres: the history is the same table.
UPDATE tenure_jobs
SET state = json_extract(was, '$.state'), run_at = json_extract(was, '$.run_at'), attempt = json_extract(was, '$.attempt'),
    crashes = json_extract(was, '$.crashes'), started_at = json_extract(was, '$.started_at'),
    finished_at = json_extract(was, '$.finished_at'), expires_at = json_extract(was, '$.expires_at'),
    cancel_at = json_extract(was, '$.cancel_at'), worker = json_extract(was, '$.worker'), trace = json_extract(was, '$.trace'),
    reason = json_extract(was, '$.reason'), error = json_extract(was, '$.error'), result = json_extract(was, '$.result'),
    progress = json_extract(was, '$.progress'), progress_note = json_extract(was, '$.progress_note'), held = NULL,
    was = json_extract(was, '$.was')
WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND json_extract(was, '$.epoch') = epoch
RETURNING id, group_key
