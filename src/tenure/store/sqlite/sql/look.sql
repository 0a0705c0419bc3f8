-- look: how many jobs each known lane would give to a claim of :limit, and (quota 0) the first unknown lane in each gap.
SELECT queue, kind, rank, count(*) AS quota FROM (
    SELECT j.queue, j.kind, j.rank
    FROM json_each(:lanes) l
    CROSS JOIN tenure_jobs j ON j.seq IN (
        SELECT k.seq FROM tenure_jobs k INDEXED BY tenure_jobs_ready
        WHERE k.state = 'ready' AND k.queue = json_extract(l.value, '$.queue') AND k.kind = json_extract(l.value, '$.kind')
          AND k.rank = json_extract(l.value, '$.rank')
          AND (k.run_at, k.seq) >= (json_extract(l.value, '$.run_at'), json_extract(l.value, '$.seq'))
          AND (k.expires_at IS NULL OR k.expires_at > :now)
        ORDER BY k.run_at, k.seq LIMIT :limit)
    WHERE NOT EXISTS (SELECT 1 FROM tenure_queues q WHERE q.name = j.queue AND q.paused_at IS NOT NULL)
    ORDER BY j.rank, j.run_at, j.seq LIMIT :limit
) GROUP BY queue, kind, rank
UNION ALL
SELECT f.queue, f.kind, f.rank, 0
FROM json_each(:gaps) g
CROSS JOIN tenure_jobs f ON f.seq = (
    SELECT j.seq FROM tenure_jobs j INDEXED BY tenure_jobs_ready
    WHERE j.state = 'ready'
      AND (j.queue, j.kind, j.rank) >
          (json_extract(g.value, '$.queue_1'), json_extract(g.value, '$.kind_1'), json_extract(g.value, '$.rank_1'))
      AND (j.queue, j.kind, j.rank) <
          (json_extract(g.value, '$.queue_2'), json_extract(g.value, '$.kind_2'), json_extract(g.value, '$.rank_2'))
    ORDER BY j.queue, j.kind, j.rank, j.run_at, j.seq LIMIT 1)
