-- look: how many jobs each known lane would give to a claim of :limit, and (quota 0) the first unknown lane in each gap.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
best AS (
    SELECT p.queue, p.kind, p.rank
    FROM json_to_recordset(:lanes::text::json) AS l(queue text, kind text, rank integer, run_at bigint, seq bigint)
    CROSS JOIN n
    CROSS JOIN LATERAL (
        SELECT j.queue, j.kind, j.rank, j.run_at, j.seq FROM tenure.jobs j
        WHERE j.state = 'ready' AND j.queue = l.queue AND j.kind = l.kind AND j.rank = l.rank
          AND (j.run_at, j.seq) >= (l.run_at, l.seq) AND (j.expires_at IS NULL OR j.expires_at > n.now)
        ORDER BY j.run_at, j.seq LIMIT :limit::integer
    ) p
    WHERE NOT EXISTS (SELECT FROM tenure.queues q WHERE q.name = l.queue AND q.paused_at IS NOT NULL)
    ORDER BY p.rank, p.run_at, p.seq LIMIT :limit::integer
)
SELECT queue, kind, rank, count(*)::integer AS quota FROM best GROUP BY queue, kind, rank
UNION ALL
SELECT f.queue, f.kind, f.rank, 0
FROM json_to_recordset(:gaps::text::json) AS g(
    queue_1 text, kind_1 text, rank_1 integer, queue_2 text, kind_2 text, rank_2 integer)
CROSS JOIN LATERAL (
    SELECT j.queue, j.kind, j.rank FROM tenure.jobs j
    WHERE j.state = 'ready'
      AND (j.queue, j.kind, j.rank) > (g.queue_1, g.kind_1, g.rank_1)
      AND (j.queue, j.kind, j.rank) < (g.queue_2, g.kind_2, g.rank_2)
    ORDER BY j.queue, j.kind, j.rank, j.run_at, j.seq LIMIT 1
) f
