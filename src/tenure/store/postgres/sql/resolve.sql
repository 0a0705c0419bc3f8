-- resolve: for each row that was asked for, the job that holds its id or its unique slot.
WITH r AS MATERIALIZED (SELECT * FROM json_to_recordset(:rows::text::json) AS r(id uuid, unique_hash uuid))
SELECT r.id::text AS id, j.id::text AS found
FROM r CROSS JOIN LATERAL (SELECT k.id FROM tenure.jobs k WHERE k.id = r.id OFFSET 0) j
UNION ALL
SELECT r.id::text, f.id::text
FROM r CROSS JOIN LATERAL (SELECT k.id FROM tenure.finished k WHERE k.id = r.id OFFSET 0) f
UNION ALL
SELECT r.id::text, j.id::text
FROM r CROSS JOIN LATERAL (SELECT k.id FROM tenure.jobs k WHERE k.unique_hash = r.unique_hash AND k.id <> r.id OFFSET 0) j
