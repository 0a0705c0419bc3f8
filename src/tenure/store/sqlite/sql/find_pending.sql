-- find_pending: locks a job that has not finished, and tells what cancelling it means.
-- Differs from postgres: the transaction is the lock.
SELECT j.id, j.seq, j.epoch, j.state, j.group_key, :now AS now
FROM tenure_jobs j WHERE j.id = :id AND j.finished_at IS NULL
