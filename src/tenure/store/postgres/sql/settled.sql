-- settled: which of these claims were settled before, with the outcome they say.
SELECT j.id::text AS id FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint, outcome text)
JOIN tenure.jobs j ON j.id = c.id AND j.settled_epoch = c.epoch AND j.outcome = c.outcome
UNION
SELECT f.id::text FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint, outcome text)
JOIN tenure.finished f ON f.id = c.id AND f.settled_epoch = c.epoch AND f.outcome = c.outcome
UNION
SELECT a.job_id::text FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint, outcome text)
JOIN tenure.attempts a ON a.job_id = c.id AND a.epoch = c.epoch AND c.outcome = 'fail' AND a.error_kind <> 'Crash'
