-- of_worker: locks the running jobs of one worker, the oldest lease first; locked rows are passed over.
-- Differs from postgres: the transaction is the lock.
SELECT j.id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, :now AS now, j.kind
FROM tenure_jobs j INDEXED BY tenure_jobs_lease
WHERE j.lease_until IS NOT NULL AND j.worker = :worker
ORDER BY j.lease_until LIMIT :limit
