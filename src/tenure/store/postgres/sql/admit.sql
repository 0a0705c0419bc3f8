-- admit: makes the first waiting jobs of each group ready, as many as its limit leaves room for.
UPDATE tenure.jobs SET state = 'ready', held = true
WHERE id = ANY (ARRAY(
    SELECT w.id
    FROM (SELECT DISTINCT group_key FROM json_to_recordset(:groups::text::json) AS g(group_key text)) g
    CROSS JOIN LATERAL (
        SELECT j.group_limit - (SELECT count(*) FROM tenure.jobs h WHERE h.group_key = g.group_key AND h.held) AS room
        FROM tenure.jobs j WHERE j.state = 'waiting' AND j.group_key = g.group_key
        ORDER BY j.rank, j.run_at, j.seq LIMIT 1
    ) head
    CROSS JOIN LATERAL (
        SELECT j.id FROM tenure.jobs j WHERE j.state = 'waiting' AND j.group_key = g.group_key
        ORDER BY j.rank, j.run_at, j.seq LIMIT greatest(head.room, 0) FOR UPDATE
    ) w
))
