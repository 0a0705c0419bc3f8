-- hold: locks the running jobs of these claims, in the order of their ids, and tells what decides their fate.
WITH c AS MATERIALIZED (SELECT * FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint))
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, tenure.micros(:now::bigint) AS now
FROM c JOIN tenure.jobs j ON j.id = c.id AND j.epoch = c.epoch
WHERE j.state = 'running'
ORDER BY j.id FOR UPDATE OF j
