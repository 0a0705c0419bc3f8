-- look: how many jobs each of several lanes would give to a claim of :limit.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT lane, count(*)::integer AS quota FROM (
    SELECT p.lane
    FROM n
    CROSS JOIN json_to_recordset(:lanes::text::json) AS l(lane text, queue text, run_at bigint, seq bigint)
    CROSS JOIN LATERAL (
        SELECT j.lane, j.rank, j.run_at, j.seq FROM tenure.jobs j
        WHERE j.state = 'ready' AND j.lane = l.lane AND (j.run_at, j.seq) >= (l.run_at, l.seq)
          AND (j.expires_at IS NULL OR j.expires_at > n.now)
        ORDER BY j.run_at, j.seq LIMIT :limit::integer
    ) p
    WHERE NOT EXISTS (SELECT FROM tenure.queues q WHERE q.name = l.queue AND q.paused_at IS NOT NULL)
    ORDER BY p.rank, p.run_at, p.seq LIMIT :limit::integer
) best GROUP BY lane
