-- settle_done: moves finished work to the history, fenced by (id, epoch). Jobs of groups go another way.
-- Differs from sqlite: no join with the claims, so that no statistics can make the planner read all jobs; one epoch for all is compared without looking it up for each; results come by fence.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now, nullif(:result::text, '{}')::jsonb AS results),
c AS MATERIALIZED (SELECT * FROM unnest(:id::text::uuid[], :epoch::text::bigint[]) AS c(id, epoch)),
gone AS (
    DELETE FROM tenure.jobs j
    WHERE j.id = ANY (ARRAY(SELECT id FROM c)) AND j.state = 'running'
      AND (j.epoch = (SELECT CASE WHEN min(epoch) = max(epoch) THEN min(epoch) END FROM c)
           OR ((j.id, j.epoch) IN (SELECT id, epoch FROM c)) IS TRUE)
    RETURNING j.id, j.seq, j.epoch, j.run_at, j.created_at, j.started_at, j.expires_at, j.cancel_at, j.trace, j.rank, j.attempt,
              j.max_attempts, j.crashes, j.group_limit, j.progress, j.queue, j.kind, j.payload, j.worker, j.progress_note,
              j.unique_hash, j.group_key, j.parent, j.flow, j.tenant, j.extra
)
INSERT INTO tenure.finished (
    id, seq, epoch, run_at, created_at, started_at, finished_at, expires_at, cancel_at, settled_epoch, trace, rank, attempt,
    max_attempts, crashes, group_limit, progress, state, queue, kind, payload, worker, outcome, progress_note, result,
    unique_hash, group_key, parent, flow, tenant, extra)
SELECT id, seq, epoch, run_at, created_at, started_at, n.now, expires_at, cancel_at, epoch, trace, rank, attempt,
       max_attempts, crashes, group_limit, progress, 'done', queue, kind, payload, worker, 'done', progress_note,
       CASE WHEN n.results IS NOT NULL THEN n.results ->> (id || ':' || epoch) END,
       unique_hash, group_key, parent, flow, tenant, extra
FROM gone, n
