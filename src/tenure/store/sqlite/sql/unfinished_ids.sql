-- unfinished_ids: the jobs in those of the states that are asked for, by id alone: as many of each as the limit says.
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_ready
                WHERE j.state = 'ready' AND j.lane > '' AND :ready ORDER BY j.lane LIMIT :limit)
UNION ALL
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_scheduled
                WHERE j.state = 'scheduled' AND j.run_at > 0 AND :scheduled ORDER BY j.run_at LIMIT :limit)
UNION ALL
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_waiting
                WHERE j.state = 'waiting' AND j.group_key > '' AND :waiting ORDER BY j.group_key LIMIT :limit)
UNION ALL
SELECT id FROM (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_lease
                WHERE j.lease_until > 0 AND :running ORDER BY j.lease_until LIMIT :limit)
