-- expired: locks pending jobs past their expiry; locked rows are passed over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.crashes, j.started_at, j.group_key, (SELECT now FROM n) AS now
FROM tenure.jobs j WHERE j.expires_at <= (SELECT now FROM n) AND j.state <> 'running'
ORDER BY j.expires_at LIMIT :limit::integer FOR UPDATE OF j SKIP LOCKED
