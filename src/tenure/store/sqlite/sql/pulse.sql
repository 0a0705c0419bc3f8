-- pulse: how the queues stand, by what their indexes tell: at most :cap of each lane's ready jobs and of each other state, fewer where there are many lanes, 1000 lanes.
-- Differs from postgres: a lane's first job is looked for twice, for want of LATERAL.
WITH RECURSIVE found(lane) AS (
    SELECT (SELECT lane FROM tenure_jobs INDEXED BY tenure_jobs_ready
            WHERE state = 'ready' AND lane > '' ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT j.lane FROM tenure_jobs j INDEXED BY tenure_jobs_ready
            WHERE j.state = 'ready' AND j.lane > f.lane ORDER BY j.lane LIMIT 1)
    FROM found f WHERE f.lane IS NOT NULL LIMIT 1000
),
lanes AS MATERIALIZED (SELECT lane FROM found WHERE lane IS NOT NULL),
share AS MATERIALIZED (SELECT max(min(:cap, :most / max(count(*), 1)), 1) AS quota FROM lanes)
SELECT 'now' AS what, '' AS name, :now AS value
UNION ALL
SELECT 'quota', '', quota FROM share
UNION ALL
SELECT 'ready', lane, (SELECT count(*) FROM (
    SELECT 1 FROM tenure_jobs j INDEXED BY tenure_jobs_ready WHERE j.state = 'ready' AND j.lane = l.lane
    LIMIT (SELECT quota FROM share)))
FROM lanes l
UNION ALL
SELECT 'oldest', lane, (
    SELECT j.run_at FROM tenure_jobs j INDEXED BY tenure_jobs_ready WHERE j.state = 'ready' AND j.lane = l.lane
    ORDER BY j.run_at LIMIT 1)
FROM lanes l
UNION ALL
SELECT 'running', queue, count(*) FROM (
    SELECT queue FROM tenure_jobs WHERE lease_until > 0 ORDER BY lease_until LIMIT :cap) GROUP BY queue
UNION ALL
SELECT 'scheduled', lane, count(*) FROM (
    SELECT lane FROM tenure_jobs WHERE state = 'scheduled' AND run_at > 0 ORDER BY run_at LIMIT :cap) GROUP BY lane
UNION ALL
SELECT 'waiting', lane, count(*) FROM (
    SELECT lane FROM tenure_jobs WHERE state = 'waiting' AND group_key > '' ORDER BY group_key LIMIT :cap) GROUP BY lane
UNION ALL
SELECT 'dead', queue, count(*) FROM (
    SELECT queue FROM tenure_jobs INDEXED BY tenure_jobs_dead WHERE state = 'dead' AND id > '' ORDER BY id LIMIT :cap) GROUP BY queue
UNION ALL
SELECT 'overdue_leases', '', count(*) FROM (
    SELECT 1 FROM tenure_jobs WHERE lease_until <= :now - :margin ORDER BY lease_until LIMIT :cap)
UNION ALL
SELECT 'overdue_scheduled', '', count(*) FROM (
    SELECT 1 FROM tenure_jobs WHERE state = 'scheduled' AND run_at <= :now - :margin ORDER BY run_at LIMIT :cap)
UNION ALL
SELECT 'paused', name, paused_at IS NOT NULL FROM tenure_queues
