-- settled: which of these claims were settled before, with the outcome they say.
SELECT j.id, json_extract(c.value, '$.epoch') AS epoch, json_extract(c.value, '$.outcome') AS outcome FROM json_each(:claims) c
CROSS JOIN tenure_jobs j ON j.id = json_extract(c.value, '$.id')
WHERE (j.settled_epoch = json_extract(c.value, '$.epoch') AND j.outcome = json_extract(c.value, '$.outcome'))
   OR instr(j.trace, ',' || json_extract(c.value, '$.epoch') || ':' || json_extract(c.value, '$.outcome') || ',') > 0
UNION
SELECT a.job_id, a.epoch, a.outcome FROM json_each(:claims) c
CROSS JOIN tenure_attempts a ON a.job_id = json_extract(c.value, '$.id') AND a.epoch = json_extract(c.value, '$.epoch')
WHERE a.outcome = json_extract(c.value, '$.outcome')
