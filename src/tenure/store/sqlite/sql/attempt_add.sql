-- attempt_add: keeps the story of failed attempts.
INSERT INTO tenure_attempts (job_id, epoch, attempt, worker, started_at, finished_at, outcome, error_kind, message, traceback,
                             fingerprint)
SELECT json_extract(value, '$.id'), json_extract(value, '$.epoch'), json_extract(value, '$.attempt'),
       json_extract(value, '$.worker'), json_extract(value, '$.started_at'), json_extract(value, '$.finished_at'),
       json_extract(value, '$.outcome'), json_extract(value, '$.error_kind'), json_extract(value, '$.message'), json_extract(value, '$.traceback'),
       json_extract(value, '$.fingerprint')
FROM json_each(:rows) WHERE true
ON CONFLICT DO NOTHING
