-- lanes: the unknown lanes in the gaps between the known ones, one index step each.
WITH RECURSIVE found(high, lane) AS (
    SELECT json_extract(g.value, '$.high'), (
        SELECT j.lane FROM tenure_jobs j INDEXED BY tenure_jobs_ready
        WHERE j.state = 'ready' AND j.lane > json_extract(g.value, '$.low') AND j.lane < json_extract(g.value, '$.high')
        ORDER BY j.lane LIMIT 1)
    FROM json_each(:gaps) g
    UNION ALL
    SELECT f.high, (
        SELECT j.lane FROM tenure_jobs j INDEXED BY tenure_jobs_ready
        WHERE j.state = 'ready' AND j.lane > f.lane AND j.lane < f.high
        ORDER BY j.lane LIMIT 1)
    FROM found f WHERE f.lane IS NOT NULL
)
SELECT lane FROM found WHERE lane IS NOT NULL LIMIT 1000
