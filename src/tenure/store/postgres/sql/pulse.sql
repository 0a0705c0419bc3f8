-- pulse: how the queues stand, by what their indexes tell: at most :cap of each lane's ready jobs and of each other state, fewer where there are many lanes, 1000 lanes.
WITH RECURSIVE n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
found AS (
    (SELECT j.lane FROM tenure.jobs j WHERE j.state = 'ready' ORDER BY j.lane LIMIT 1)
    UNION ALL
    SELECT f.lane
    FROM found p
    CROSS JOIN LATERAL (
        SELECT j.lane FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane > p.lane ORDER BY j.lane LIMIT 1) f
),
lanes AS MATERIALIZED (SELECT lane FROM found LIMIT 1000),
share AS MATERIALIZED (SELECT greatest(least(:cap::bigint, :most::bigint / greatest(count(*), 1)), 1) AS quota FROM lanes)
SELECT 'now' AS what, '' AS name, n.now AS value FROM n
UNION ALL
SELECT 'quota', '', s.quota FROM share s
UNION ALL
SELECT 'ready', l.lane, c.count
FROM lanes l
CROSS JOIN LATERAL (SELECT count(*) AS count FROM (
    SELECT FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane = l.lane LIMIT (SELECT s.quota FROM share s)) k) c
UNION ALL
SELECT 'oldest', l.lane, o.run_at
FROM lanes l
CROSS JOIN LATERAL (
    SELECT j.run_at FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane = l.lane ORDER BY j.run_at, j.seq LIMIT 1) o
UNION ALL
SELECT 'running', r.queue, count(*) FROM (
    SELECT j.queue FROM tenure.jobs j WHERE j.lease_until IS NOT NULL ORDER BY j.lease_until LIMIT :cap::bigint) r GROUP BY r.queue
UNION ALL
SELECT 'scheduled', s.lane, count(*) FROM (
    SELECT j.lane FROM tenure.jobs j WHERE j.state = 'scheduled'
    ORDER BY j.run_at LIMIT :cap::bigint) s GROUP BY s.lane
UNION ALL
SELECT 'waiting', w.lane, count(*) FROM (
    SELECT j.lane FROM tenure.jobs j WHERE j.state = 'waiting'
    ORDER BY j.group_key LIMIT :cap::bigint) w GROUP BY w.lane
UNION ALL
SELECT 'dead', d.queue, count(*) FROM (
    SELECT f.queue FROM tenure.finished f WHERE f.state = 'dead' ORDER BY f.id LIMIT :cap::bigint) d GROUP BY d.queue
UNION ALL
SELECT 'overdue_leases', '', count(*) FROM (
    SELECT FROM tenure.jobs j WHERE j.lease_until <= (SELECT now FROM n) - :margin::bigint
    ORDER BY j.lease_until LIMIT :cap::bigint) o
UNION ALL
SELECT 'overdue_scheduled', '', count(*) FROM (
    SELECT FROM tenure.jobs j WHERE j.state = 'scheduled' AND j.run_at <= (SELECT now FROM n) - :margin::bigint
    ORDER BY j.run_at LIMIT :cap::bigint) o
UNION ALL
SELECT 'paused', q.name, (q.paused_at IS NOT NULL)::integer FROM tenure.queues q
