-- settled: which of these claims were settled before, with the outcome they say.
WITH c AS MATERIALIZED (SELECT * FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint, outcome text))
SELECT j.id::text AS id, j.settled_epoch AS epoch, j.outcome
FROM c JOIN tenure.jobs j ON j.id = c.id AND j.settled_epoch = c.epoch AND j.outcome = c.outcome
UNION
SELECT f.id::text, f.settled_epoch, f.outcome
FROM c JOIN tenure.finished f ON f.id = c.id AND f.settled_epoch = c.epoch AND f.outcome = c.outcome
UNION
SELECT a.job_id::text, a.epoch, a.outcome
FROM c JOIN tenure.attempts a ON a.job_id = c.id AND a.epoch = c.epoch AND a.outcome = c.outcome
