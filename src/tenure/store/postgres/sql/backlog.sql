-- backlog: how many jobs are ready in each of these lanes, up to :cap, and since when the first of them is.
SELECT l.lane, b.count, b.run_at
FROM json_to_recordset(:lanes::text::json) AS l(lane text)
CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(r.run_at) AS run_at FROM (
        SELECT j.run_at FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane = l.lane
        ORDER BY j.run_at, j.seq LIMIT :cap::integer) r
) b
