-- ledger_holders: who holds each key's period now.
SELECT l.unique_hash, l.job_id
FROM json_each(:rows) r CROSS JOIN tenure_ledger l ON l.unique_hash = json_extract(r.value, '$.unique_hash')
