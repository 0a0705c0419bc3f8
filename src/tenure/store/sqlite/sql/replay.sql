-- replay: finished jobs go back to the line as new; one whose unique slot is taken stays where it is.
-- Differs from postgres: the row stays, so a taken slot makes UPDATE OR IGNORE pass it over.
UPDATE OR IGNORE tenure_jobs
SET state = CASE WHEN group_key IS NULL THEN 'ready' ELSE 'waiting' END, run_at = :now, attempt = 0, crashes = 0,
    started_at = NULL, finished_at = NULL, expires_at = NULL, cancel_at = NULL, worker = NULL, reason = NULL,
    error = NULL, result = NULL, progress = NULL, progress_note = NULL
WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND finished_at IS NOT NULL
RETURNING id, group_key
