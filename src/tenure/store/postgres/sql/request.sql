-- request: the web request a job was made from.
SELECT body, headers FROM tenure.requests WHERE job_id = :id::uuid
