-- gaps: whether there is an unknown lane in a gap between the known ones: the quick look before lanes.
SELECT 1 AS found FROM json_to_recordset(:gaps::text::json) AS g(low text, high text)
CROSS JOIN LATERAL (
    SELECT FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane > g.low AND j.lane < g.high LIMIT 1) f
LIMIT 1
