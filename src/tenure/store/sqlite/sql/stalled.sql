-- stalled: groups after :after that have waiting jobs, in order: what the sweep looks at.
-- Differs from postgres: the next group is found by its first job, for want of LATERAL.
WITH RECURSIVE g(group_key, n) AS (
    SELECT * FROM (SELECT group_key, 1 FROM tenure_jobs WHERE state = 'waiting' AND group_key > :after ORDER BY group_key LIMIT 1)
    UNION ALL
    SELECT j.group_key, g.n + 1
    FROM g CROSS JOIN tenure_jobs j ON j.seq = (
        SELECT k.seq FROM tenure_jobs k WHERE k.state = 'waiting' AND k.group_key > g.group_key ORDER BY k.group_key LIMIT 1)
    WHERE g.n < :limit
)
SELECT group_key FROM g
