-- request_add: keeps the web request a job was made from.
INSERT INTO tenure.requests (job_id, body, headers) VALUES (:id::uuid, :body::bytea, :headers::text) ON CONFLICT DO NOTHING
