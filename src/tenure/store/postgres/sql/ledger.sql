-- ledger: takes each key's period for the job that asks, unless another's still runs.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
INSERT INTO tenure.ledger AS l (unique_hash, job_id, until)
SELECT r.unique_hash, r.id, n.now + r.unique_for
FROM n, json_to_recordset(:rows::text::json) AS r(id uuid, unique_hash uuid, unique_for bigint)
ORDER BY r.unique_hash
ON CONFLICT (unique_hash) DO UPDATE SET job_id = excluded.job_id, until = excluded.until
WHERE l.until <= (SELECT now FROM n)
