-- running: the jobs that have run longest, so many of each worker, among so many of those that run.
SELECT j.id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, j.finished_at, j.outcome, j.reason, j.result, j.progress,
       j.progress_note, j.cancel_at
FROM (
    SELECT l.seq, l.started_at, row_number() OVER (PARTITION BY l.worker ORDER BY l.started_at, l.seq) AS place
    FROM (SELECT k.seq, k.worker, k.started_at FROM tenure_jobs k INDEXED BY tenure_jobs_lease
          WHERE k.lease_until IS NOT NULL ORDER BY k.lease_until LIMIT :look) l
) r JOIN tenure_jobs j ON j.seq = r.seq
WHERE r.place <= :each
ORDER BY r.started_at, r.seq LIMIT :limit
