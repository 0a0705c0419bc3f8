-- overdue: locks running jobs whose lease ran out, and tells whether their worker still beats; locked rows are passed over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, n.now,
       EXISTS (SELECT FROM tenure.workers w WHERE w.id = j.worker AND w.seen_at > n.now - :alive::bigint) AS alive
FROM n JOIN tenure.jobs j ON j.lease_until <= n.now - :grace::bigint AND j.lease_until >= :after::bigint
ORDER BY j.lease_until LIMIT :limit::integer FOR UPDATE OF j SKIP LOCKED
