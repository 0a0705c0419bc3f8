-- claim: takes up to each lane's quota of its first ready jobs under a lease; jobs others are taking are passed over.
-- Differs from postgres: picks here and takes in claim_take, in one transaction (RETURNING costs half as much again);
-- the writer is alone, so it merges the lanes itself and needs no quotas.
SELECT j.id, j.seq, j.epoch + 1 AS epoch, j.kind, j.queue, j.rank, j.payload, j.attempt + 1 AS attempt, j.max_attempts,
       j.crashes, j.run_at, j.created_at, :now + :lease AS lease_until,
       CASE WHEN :started THEN :now END AS started_at, j.expires_at, j.group_key, j.parent, j.flow,
       j.tenant, j.extra, j.error
FROM json_each(:lanes) l
CROSS JOIN tenure_jobs j ON j.seq IN (
    SELECT k.seq FROM tenure_jobs k INDEXED BY tenure_jobs_ready
    WHERE k.state = 'ready' AND k.queue = json_extract(l.value, '$.queue') AND k.kind = json_extract(l.value, '$.kind')
      AND k.rank = json_extract(l.value, '$.rank')
      AND (k.run_at, k.seq) >= (json_extract(l.value, '$.run_at'), json_extract(l.value, '$.seq'))
      AND (k.expires_at IS NULL OR k.expires_at > :now)
    ORDER BY k.run_at, k.seq LIMIT :limit)
WHERE :worker IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM tenure_queues q WHERE q.name = j.queue AND q.paused_at IS NOT NULL)
ORDER BY j.rank, j.run_at, j.seq LIMIT :limit
