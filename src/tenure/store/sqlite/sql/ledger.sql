-- ledger: takes each key's period for the job that asks, unless another's still runs.
INSERT INTO tenure_ledger (unique_hash, job_id, until)
SELECT json_extract(r.value, '$.unique_hash'), json_extract(r.value, '$.id'), :now + json_extract(r.value, '$.unique_for')
FROM json_each(:rows) r WHERE true
ON CONFLICT (unique_hash) DO UPDATE SET job_id = excluded.job_id, until = excluded.until
WHERE tenure_ledger.until <= :now
