-- request_add: keeps the web requests that jobs were made from.
-- Differs from postgres: takes rows in process instead of unpacking all of them.
INSERT INTO tenure_requests (job_id, body, headers) VALUES (:id, :body, :headers) ON CONFLICT DO NOTHING
