-- settled: which of these claims were settled before, with the outcome they say.
WITH c AS MATERIALIZED (SELECT * FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint, outcome text))
SELECT c.id::text AS id, c.epoch, c.outcome FROM c JOIN tenure.jobs j ON j.id = c.id
WHERE (j.settled_epoch = c.epoch AND j.outcome = c.outcome) OR strpos(j.trace, ',' || c.epoch || ':' || c.outcome || ',') > 0
UNION
SELECT c.id::text, c.epoch, c.outcome FROM c JOIN tenure.finished f ON f.id = c.id
WHERE (f.settled_epoch = c.epoch AND f.outcome = c.outcome) OR strpos(f.trace, ',' || c.epoch || ':' || c.outcome || ',') > 0
UNION
SELECT c.id::text, c.epoch, c.outcome FROM c JOIN tenure.attempts a ON a.job_id = c.id AND a.epoch = c.epoch AND a.outcome = c.outcome
