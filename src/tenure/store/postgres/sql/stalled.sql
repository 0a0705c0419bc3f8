-- stalled: groups after :after that have waiting jobs, in order: what the sweep looks at.
WITH RECURSIVE g(group_key, n) AS (
    (SELECT group_key, 1 FROM tenure.jobs WHERE state = 'waiting' AND group_key > :after::text ORDER BY group_key LIMIT 1)
    UNION ALL
    SELECT f.group_key, g.n + 1
    FROM g
    CROSS JOIN LATERAL (
        SELECT j.group_key FROM tenure.jobs j WHERE j.state = 'waiting' AND j.group_key > g.group_key ORDER BY j.group_key LIMIT 1) f
    WHERE g.n < :limit::integer
)
SELECT group_key FROM g
