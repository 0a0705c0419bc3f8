-- gaps: the first unknown lane in each gap between the known ones.
SELECT f.lane
FROM json_each(:gaps) g
CROSS JOIN tenure_jobs f ON f.seq = (
    SELECT j.seq FROM tenure_jobs j INDEXED BY tenure_jobs_ready
    WHERE j.state = 'ready' AND j.lane > json_extract(g.value, '$.low') AND j.lane < json_extract(g.value, '$.high')
    ORDER BY j.lane LIMIT 1)
