-- hold: locks the running jobs of these claims, in the order of their ids, and tells what decides their fate.
WITH c AS MATERIALIZED (SELECT * FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint) ORDER BY id)
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, tenure.micros(:now::bigint) AS now, j.kind
FROM c CROSS JOIN LATERAL (
    SELECT * FROM tenure.jobs k WHERE k.id = c.id AND k.epoch = c.epoch AND k.state = 'running' FOR UPDATE) j
