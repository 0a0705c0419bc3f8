-- ledger: takes each key's period for the job that asks, unless another's still runs.
-- Differs from postgres: takes rows in process instead of unpacking one JSON parameter.
INSERT INTO tenure_ledger (unique_hash, job_id, until) VALUES (:unique_hash, :id, :now + :unique_for)
ON CONFLICT (unique_hash) DO UPDATE SET job_id = excluded.job_id, until = excluded.until
WHERE tenure_ledger.until <= :now
