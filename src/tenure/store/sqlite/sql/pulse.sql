-- pulse: how the queues stand, by what their indexes tell: at most :cap of each lane's ready jobs and of each other state, fewer where there are many lanes, 1000 lanes.
-- Differs from postgres: the next lane is found by its first job, and that one is looked for twice, for want of LATERAL.
WITH RECURSIVE found(lane) AS (
    SELECT * FROM (SELECT lane FROM tenure_jobs INDEXED BY tenure_jobs_ready WHERE state = 'ready' ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT j.lane
    FROM found f CROSS JOIN tenure_jobs j ON j.seq = (
        SELECT k.seq FROM tenure_jobs k INDEXED BY tenure_jobs_ready WHERE k.state = 'ready' AND k.lane > f.lane ORDER BY k.lane LIMIT 1)
    LIMIT 1000
),
lanes AS MATERIALIZED (SELECT lane FROM found),
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
    SELECT queue FROM tenure_jobs WHERE lease_until IS NOT NULL ORDER BY lease_until LIMIT :cap) GROUP BY queue
UNION ALL
SELECT 'scheduled', lane, count(*) FROM (
    SELECT lane FROM tenure_jobs INDEXED BY tenure_jobs_scheduled WHERE state = 'scheduled' ORDER BY run_at LIMIT :cap) GROUP BY lane
UNION ALL
SELECT 'waiting', lane, count(*) FROM (
    SELECT lane FROM tenure_jobs INDEXED BY tenure_jobs_waiting WHERE state = 'waiting' ORDER BY group_key LIMIT :cap) GROUP BY lane
UNION ALL
SELECT 'dead', queue, count(*) FROM (
    SELECT queue FROM tenure_jobs INDEXED BY tenure_jobs_dead WHERE state = 'dead' ORDER BY id LIMIT :cap) GROUP BY queue
UNION ALL
SELECT 'overdue_leases', '', count(*) FROM (
    SELECT 1 FROM tenure_jobs WHERE lease_until <= :now - :margin LIMIT :cap)
UNION ALL
SELECT 'overdue_scheduled', '', count(*) FROM (
    SELECT 1 FROM tenure_jobs WHERE state = 'scheduled' AND run_at <= :now - :margin LIMIT :cap)
UNION ALL
SELECT 'paused', name, paused_at IS NOT NULL FROM tenure_queues
