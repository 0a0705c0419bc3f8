-- unfinished_ids: the jobs in those of the states that are asked for, by id alone: as many of each as the limit says.
SELECT a.id::text AS id FROM (SELECT j.id FROM tenure.jobs j
    WHERE j.state = 'ready' AND :ready::boolean ORDER BY j.lane LIMIT :limit::integer) a
UNION ALL
SELECT b.id::text FROM (SELECT j.id FROM tenure.jobs j
    WHERE j.state = 'scheduled' AND :scheduled::boolean ORDER BY j.run_at LIMIT :limit::integer) b
UNION ALL
SELECT c.id::text FROM (SELECT j.id FROM tenure.jobs j
    WHERE j.state = 'waiting' AND :waiting::boolean ORDER BY j.group_key LIMIT :limit::integer) c
UNION ALL
SELECT d.id::text FROM (SELECT j.id FROM tenure.jobs j
    WHERE j.lease_until IS NOT NULL AND :running::boolean ORDER BY j.lease_until LIMIT :limit::integer) d
