-- claim: takes up to each lane's quota of its first ready jobs under a lease; jobs others are taking are passed over.
-- Differs from postgres: picks here, from one lane at a time, and takes in claim_take, in the same transaction: in process
-- a statement costs little, and RETURNING costs half as much again.
SELECT j.id, j.seq, j.epoch + 1 AS epoch, j.kind, j.queue, j.rank, j.payload, j.attempt + 1 AS attempt, j.max_attempts,
       j.crashes, j.run_at, j.created_at, :now + :lease AS lease_until,
       :now AS started_at, j.expires_at, j.group_key, j.parent, j.flow,
       j.tenant, j.extra, j.error, j.group_limit, CASE WHEN :started THEN NULL WHEN j.doubt = 2 THEN 2 ELSE 1 END AS doubt
FROM tenure_jobs j INDEXED BY tenure_jobs_ready
WHERE j.state = 'ready' AND j.lane = :lane AND (j.expires_at IS NULL OR j.expires_at > :now)
  AND NOT EXISTS (SELECT 1 FROM tenure_queues q WHERE q.name = :queue AND q.paused_at IS NOT NULL)
ORDER BY j.run_at, j.seq LIMIT :limit
