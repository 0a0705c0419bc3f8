-- of_worker: locks the running jobs of one worker, the oldest lease first; locked rows are passed over.
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, tenure.micros(:now::bigint) AS now, j.kind
FROM tenure.jobs j
WHERE j.lease_until IS NOT NULL AND j.worker = :worker::text
ORDER BY j.lease_until LIMIT :limit::integer FOR UPDATE OF j SKIP LOCKED
