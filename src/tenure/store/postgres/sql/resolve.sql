-- resolve: for each row that was asked for, the job that holds its id or its unique slot.
SELECT r.id::text AS id, j.id::text AS found
FROM json_to_recordset(:rows::text::json) AS r(id uuid, unique_hash uuid)
JOIN tenure.jobs j ON j.id = r.id
UNION ALL
SELECT r.id::text, f.id::text
FROM json_to_recordset(:rows::text::json) AS r(id uuid, unique_hash uuid)
JOIN tenure.finished f ON f.id = r.id
UNION ALL
SELECT r.id::text, j.id::text
FROM json_to_recordset(:rows::text::json) AS r(id uuid, unique_hash uuid)
JOIN tenure.jobs j ON j.unique_hash = r.unique_hash AND j.id <> r.id
