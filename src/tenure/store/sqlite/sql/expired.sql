-- expired: locks pending jobs past their expiry; locked rows are passed over.
-- Differs from postgres: the transaction is the lock.
SELECT j.id, j.seq, j.epoch, j.attempt, j.crashes, j.started_at, j.group_key, :now AS now
FROM tenure_jobs j
WHERE j.finished_at IS NULL AND j.expires_at <= :now AND j.state <> 'running'
ORDER BY j.expires_at LIMIT :limit
