-- running_ids: the jobs that run, by id alone.
SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_lease WHERE j.lease_until IS NOT NULL LIMIT :limit
