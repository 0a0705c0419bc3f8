-- ledger_holders: who holds each key's period now.
SELECT l.unique_hash::text AS unique_hash, l.job_id::text AS job_id
FROM json_to_recordset(:rows::text::json) AS r(unique_hash uuid)
JOIN tenure.ledger l ON l.unique_hash = r.unique_hash
