-- request_add: keeps the web request a job was made from.
INSERT INTO tenure_requests (job_id, body, headers) VALUES (:id, :body, :headers) ON CONFLICT DO NOTHING
