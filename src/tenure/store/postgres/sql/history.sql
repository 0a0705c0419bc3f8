-- history: a job's failed attempts and crashes, oldest first.
SELECT attempt, epoch, worker, started_at, finished_at, error_kind, message, traceback
FROM tenure.attempts WHERE job_id = :id::uuid ORDER BY epoch
