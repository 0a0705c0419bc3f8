-- running_ids: the jobs that run, by id alone.
SELECT j.id::text AS id FROM tenure.jobs j WHERE j.lease_until IS NOT NULL ORDER BY j.lease_until LIMIT :limit::integer
