-- request: the web request a job was made from.
SELECT body, headers FROM tenure_requests WHERE job_id = :id
