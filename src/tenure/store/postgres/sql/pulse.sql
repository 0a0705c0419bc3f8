-- pulse: how the queues stand, by what their indexes tell: at most :cap of each lane's ready jobs and of each other state, 1000 lanes.
WITH RECURSIVE n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
found AS (
    (SELECT j.lane FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane > '' ORDER BY j.lane LIMIT 1)
    UNION ALL
    SELECT f.lane
    FROM found p
    CROSS JOIN LATERAL (
        SELECT j.lane FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane > p.lane ORDER BY j.lane LIMIT 1) f
),
lanes AS MATERIALIZED (SELECT lane FROM found LIMIT 1000)
SELECT 'now' AS what, '' AS name, n.now AS value FROM n
UNION ALL
SELECT 'ready', l.lane, c.count
FROM lanes l
CROSS JOIN LATERAL (SELECT count(*) AS count FROM (
    SELECT FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane = l.lane ORDER BY j.run_at, j.seq LIMIT :cap::bigint) k) c
UNION ALL
SELECT 'oldest', l.lane, o.run_at
FROM lanes l
CROSS JOIN LATERAL (
    SELECT j.run_at FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane = l.lane ORDER BY j.run_at, j.seq LIMIT 1) o
UNION ALL
SELECT 'running', r.queue, count(*) FROM (
    SELECT j.queue FROM tenure.jobs j WHERE j.lease_until > 0 ORDER BY j.lease_until LIMIT :cap::bigint) r GROUP BY r.queue
UNION ALL
SELECT 'scheduled', s.queue, count(*) FROM (
    SELECT j.queue FROM tenure.jobs j WHERE j.state = 'scheduled' AND j.run_at > 0 ORDER BY j.run_at LIMIT :cap::bigint) s GROUP BY s.queue
UNION ALL
SELECT 'waiting', w.queue, count(*) FROM (
    SELECT j.queue FROM tenure.jobs j WHERE j.state = 'waiting' AND j.group_key > '' ORDER BY j.group_key LIMIT :cap::bigint) w GROUP BY w.queue
UNION ALL
SELECT 'overdue_leases', '', count(*) FROM (
    SELECT FROM n JOIN tenure.jobs j ON j.lease_until <= n.now - :margin::bigint ORDER BY j.lease_until LIMIT :cap::bigint) o
UNION ALL
SELECT 'overdue_scheduled', '', count(*) FROM (
    SELECT FROM n JOIN tenure.jobs j ON j.state = 'scheduled' AND j.run_at <= n.now - :margin::bigint
    ORDER BY j.run_at LIMIT :cap::bigint) o
UNION ALL
SELECT 'paused', q.name, (q.paused_at IS NOT NULL)::integer FROM tenure.queues q
