-- settle_done: moves finished work to the history, fenced by (id, epoch). Jobs of groups go another way.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
c AS MATERIALIZED (
    SELECT * FROM unnest(:id::text::uuid[], :epoch::text::bigint[], :result::text::text[]) AS c(id, epoch, result)
), gone AS (
    DELETE FROM tenure.jobs j USING c
    WHERE j.id = c.id AND j.epoch = c.epoch AND j.state = 'running'
    RETURNING j.*, c.result
)
INSERT INTO tenure.finished (
    id, seq, epoch, run_at, created_at, started_at, finished_at, expires_at, cancel_at, settled_epoch, trace, rank, attempt,
    max_attempts, crashes, group_limit, progress, state, queue, kind, payload, worker, outcome, progress_note, result,
    unique_hash, group_key, parent, flow, tenant, extra)
SELECT id, seq, epoch, run_at, created_at, started_at, n.now, expires_at, cancel_at, epoch, trace, rank, attempt,
       max_attempts, crashes, group_limit, progress, 'done', queue, kind, payload, worker, 'done', progress_note, result,
       unique_hash, group_key, parent, flow, tenant, extra
FROM gone, n
