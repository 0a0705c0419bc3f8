-- backlog: how many jobs are ready in each of these lanes, up to :cap, and since when the first of them is.
SELECT json_extract(l.value, '$.lane') AS lane,
       (SELECT count(*) FROM (
           SELECT 1 FROM tenure_jobs j INDEXED BY tenure_jobs_ready
           WHERE j.state = 'ready' AND j.lane = json_extract(l.value, '$.lane') LIMIT :cap)) AS count,
       (SELECT j.run_at FROM tenure_jobs j INDEXED BY tenure_jobs_ready
        WHERE j.state = 'ready' AND j.lane = json_extract(l.value, '$.lane') ORDER BY j.run_at LIMIT 1) AS run_at
FROM json_each(:lanes) l
