-- hold: locks the running jobs of these claims, in the order of their ids, and tells what decides their fate.
-- Differs from postgres: the transaction is the lock.
SELECT j.id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, :now AS now, j.kind
FROM json_each(:claims) c
CROSS JOIN tenure_jobs j ON j.seq = json_extract(c.value, '$.seq') AND j.id = json_extract(c.value, '$.id') AND j.epoch = json_extract(c.value, '$.epoch')
WHERE j.state = 'running'
ORDER BY j.id
