-- unfinished_ids: the jobs in those of the states that are asked for, by id alone: as many of each as the limit says.
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_ready
                WHERE j.state = 'ready' AND :ready ORDER BY j.lane LIMIT :limit)
UNION ALL
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_scheduled
                WHERE j.state = 'scheduled' AND :scheduled ORDER BY j.run_at LIMIT :limit)
UNION ALL
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_waiting
                WHERE j.state = 'waiting' AND :waiting ORDER BY j.group_key LIMIT :limit)
UNION ALL
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_lease
                WHERE j.lease_until IS NOT NULL AND :running ORDER BY j.lease_until LIMIT :limit)
