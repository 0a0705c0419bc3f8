-- settled: which of these claims were settled before, with the outcome they say.
WITH c AS MATERIALIZED (SELECT * FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint, outcome text))
SELECT c.id::text AS id, c.epoch, c.outcome
FROM c CROSS JOIN LATERAL (SELECT * FROM tenure.jobs k WHERE k.id = c.id OFFSET 0) j
WHERE (j.settled_epoch = c.epoch AND j.outcome = c.outcome) OR strpos(j.trace, ',' || c.epoch || ':' || c.outcome || ',') > 0
UNION
SELECT c.id::text, c.epoch, c.outcome
FROM c CROSS JOIN LATERAL (SELECT * FROM tenure.finished k WHERE k.id = c.id OFFSET 0) f
WHERE (f.settled_epoch = c.epoch AND f.outcome = c.outcome) OR strpos(f.trace, ',' || c.epoch || ':' || c.outcome || ',') > 0
UNION
SELECT c.id::text, c.epoch, c.outcome
FROM c CROSS JOIN LATERAL (SELECT * FROM tenure.attempts k WHERE k.job_id = c.id AND k.epoch = c.epoch OFFSET 0) a
WHERE a.outcome = c.outcome
