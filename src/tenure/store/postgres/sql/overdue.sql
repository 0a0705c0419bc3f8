-- overdue: locks running jobs whose lease ran out, and tells whether their worker still beats; locked rows are passed over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.max_attempts, j.crashes, j.run_at, j.cancel_at, j.expires_at,
       j.started_at, j.worker, j.group_key, j.extra, j.doubt, (SELECT now FROM n) AS now, j.kind,
       EXISTS (SELECT FROM tenure.workers w WHERE w.id = j.worker AND w.seen_at > (SELECT now FROM n) - :alive::bigint) AS alive
FROM tenure.jobs j WHERE j.lease_until <= (SELECT now FROM n) - :grace::bigint AND j.lease_until >= :after::bigint
ORDER BY j.lease_until LIMIT :limit::integer FOR UPDATE OF j SKIP LOCKED
