-- gaps: whether there is an unknown lane in a gap between the known ones: the quick look before lanes.
SELECT 1 AS found FROM json_each(:gaps) g
WHERE EXISTS (
    SELECT 1 FROM tenure_jobs j INDEXED BY tenure_jobs_ready
    WHERE j.state = 'ready' AND j.lane > json_extract(g.value, '$.low') AND j.lane < json_extract(g.value, '$.high'))
LIMIT 1
