-- lanes: the unknown lanes in the gaps between the known ones, one index step each.
WITH RECURSIVE found AS (
    SELECT g.high, f.lane
    FROM json_to_recordset(:gaps::text::json) AS g(low text, high text)
    CROSS JOIN LATERAL (
        SELECT j.lane FROM tenure.jobs j
        WHERE j.state = 'ready' AND j.lane > g.low AND j.lane < g.high
        ORDER BY j.lane LIMIT 1
    ) f
    UNION ALL
    SELECT p.high, f.lane
    FROM found p
    CROSS JOIN LATERAL (
        SELECT j.lane FROM tenure.jobs j
        WHERE j.state = 'ready' AND j.lane > p.lane AND j.lane < p.high
        ORDER BY j.lane LIMIT 1
    ) f
)
SELECT lane FROM found LIMIT 1000
