-- overdue: locks running jobs whose lease ran out, and tells whether their worker still beats; locked rows are passed over.
-- Differs from postgres: the transaction is the lock.
SELECT j.id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, :now AS now, j.kind,
       EXISTS (SELECT 1 FROM tenure_workers w WHERE w.id = j.worker AND w.seen_at > :now - :alive) AS alive
FROM tenure_jobs j WHERE j.lease_until <= :now - :grace AND j.lease_until >= :after
ORDER BY j.lease_until LIMIT :limit
