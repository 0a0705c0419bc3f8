-- request_add: keeps the web requests that jobs were made from.
-- Differs from sqlite: takes all bodies as one value and cuts each out of it.
INSERT INTO tenure.requests (job_id, body, headers)
SELECT r.id, substring(:bodies::bytea, r.at, r.size), r.headers
FROM json_to_recordset(:rows::text::json) AS r(id uuid, at integer, size integer, headers text)
ON CONFLICT DO NOTHING
