-- running: the jobs that have run longest, so many of each worker, among so many of those that run.
-- Differs from sqlite: the rows are found by id.
SELECT j.id::text AS id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent::text AS parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, NULL::bigint AS finished_at, j.outcome, j.reason, NULL::text AS result, j.progress,
       j.progress_note, j.cancel_at
FROM (
    SELECT l.id, l.seq, l.started_at, row_number() OVER (PARTITION BY l.worker ORDER BY l.started_at, l.seq) AS place
    FROM (SELECT k.id, k.seq, k.worker, k.started_at FROM tenure.jobs k
          WHERE k.lease_until IS NOT NULL ORDER BY k.lease_until LIMIT :look::integer) l
) r JOIN tenure.jobs j ON j.id = r.id
WHERE r.place <= :each::integer
ORDER BY r.started_at, r.seq LIMIT :limit::integer
