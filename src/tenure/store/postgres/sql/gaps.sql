-- gaps: the first unknown lane in each gap between the known ones.
SELECT f.lane
FROM json_to_recordset(:gaps::text::json) AS g(low text, high text)
CROSS JOIN LATERAL (
    SELECT j.lane FROM tenure.jobs j
    WHERE j.state = 'ready' AND j.lane > g.low AND j.lane < g.high
    ORDER BY j.lane LIMIT 1
) f
