-- expired: locks pending jobs past their expiry; locked rows are passed over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT j.id::text AS id, j.seq, j.epoch, j.attempt, j.crashes, j.started_at, j.group_key, n.now
FROM n JOIN tenure.jobs j ON j.expires_at <= n.now AND j.state <> 'running'
ORDER BY j.expires_at LIMIT :limit::integer FOR UPDATE OF j SKIP LOCKED
