-- claim: takes up to each lane's quota of its first ready jobs under a lease; jobs others are taking are passed over.
-- Differs from sqlite: takes from all lanes at once, and nothing if there is an unknown lane in one of the :gaps, whose jobs may come first.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
pick AS MATERIALIZED (
    SELECT p.ctid
    FROM json_to_recordset(:lanes::text::json) AS l(lane text, queue text, run_at bigint, seq bigint, quota integer)
    CROSS JOIN n
    CROSS JOIN LATERAL (
        SELECT j.ctid FROM tenure.jobs j
        WHERE j.state = 'ready' AND j.lane = l.lane AND (j.run_at, j.seq) >= (l.run_at, l.seq)
          AND (j.expires_at IS NULL OR j.expires_at > n.now)
        ORDER BY j.run_at, j.seq LIMIT least(l.quota, :limit::integer) FOR UPDATE SKIP LOCKED
    ) p
    WHERE NOT EXISTS (SELECT FROM tenure.queues q WHERE q.name = l.queue AND q.paused_at IS NOT NULL)
      AND NOT EXISTS (
          SELECT FROM json_to_recordset(:gaps::text::json) AS g(low text, high text)
          CROSS JOIN LATERAL (
              SELECT FROM tenure.jobs j WHERE j.state = 'ready' AND j.lane > g.low AND j.lane < g.high LIMIT 1) f)
)
UPDATE tenure.jobs j
SET state = 'running', attempt = j.attempt + 1, epoch = j.epoch + 1, lease_until = n.now + :lease::bigint,
    worker = :worker::text, started_at = n.now,
    doubt = CASE WHEN :started::boolean THEN NULL WHEN j.doubt = 2 THEN 2 ELSE 1 END, progress = NULL, progress_note = NULL
FROM n
WHERE j.ctid = ANY (ARRAY(SELECT ctid FROM pick))
RETURNING j.id::text AS id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes,
          j.run_at, j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent::text AS parent,
          j.flow, j.tenant, j.extra, j.error, j.group_limit, j.doubt
