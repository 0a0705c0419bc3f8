-- look: how many jobs each of several lanes would give to a claim of :limit.
SELECT lane, count(*) AS quota FROM (
    SELECT j.lane
    FROM json_each(:lanes) l
    CROSS JOIN tenure_jobs j ON j.seq IN (
        SELECT k.seq FROM tenure_jobs k INDEXED BY tenure_jobs_ready
        WHERE k.state = 'ready' AND k.lane = json_extract(l.value, '$.lane')
          AND (k.expires_at IS NULL OR k.expires_at > :now)
        ORDER BY k.run_at, k.seq LIMIT :limit)
    WHERE NOT EXISTS (
        SELECT 1 FROM tenure_queues q WHERE q.name = json_extract(l.value, '$.queue') AND q.paused_at IS NOT NULL)
    ORDER BY j.rank, j.run_at, j.seq LIMIT :limit
) GROUP BY lane
