-- resolve: for each row that was asked for, the job that holds its id or its unique slot.
SELECT j.id AS id, j.id AS found
FROM json_each(:rows) r CROSS JOIN tenure_jobs j ON j.id = json_extract(r.value, '$.id')
UNION ALL
SELECT json_extract(r.value, '$.id'), j.id
FROM json_each(:rows) r
CROSS JOIN tenure_jobs j ON j.unique_hash = json_extract(r.value, '$.unique_hash') AND j.finished_at IS NULL
WHERE j.id <> json_extract(r.value, '$.id')
