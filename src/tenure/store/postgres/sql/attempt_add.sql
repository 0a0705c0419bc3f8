-- attempt_add: keeps the story of failed attempts.
INSERT INTO tenure.attempts (job_id, epoch, attempt, worker, started_at, finished_at, outcome, error_kind, message, traceback,
                             fingerprint)
SELECT id, epoch, attempt, worker, started_at, finished_at, outcome, error_kind, message, traceback, fingerprint
FROM json_to_recordset(:rows::text::json) AS r(
    id uuid, epoch bigint, attempt integer, worker text, started_at bigint, finished_at bigint, outcome text, error_kind text,
    message text, traceback text, fingerprint text)
ON CONFLICT DO NOTHING
