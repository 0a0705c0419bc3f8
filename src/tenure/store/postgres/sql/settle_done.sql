-- settle_done: moves finished work to the history, fenced by (id, epoch).
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
c AS MATERIALIZED (
    SELECT * FROM json_to_recordset(:rows::text::json) AS c(id uuid, epoch bigint, result text)
), gone AS (
    DELETE FROM tenure.jobs j USING c
    WHERE j.id = ANY (ARRAY(SELECT id FROM c)) AND j.id = c.id AND j.epoch = c.epoch AND j.state = 'running'
    RETURNING j.*, c.result
)
INSERT INTO tenure.finished (
    id, seq, epoch, run_at, created_at, started_at, finished_at, expires_at, cancel_at, settled_epoch, rank, attempt,
    max_attempts, crashes, group_limit, progress, state, queue, kind, payload, worker, outcome, progress_note, result,
    unique_hash, group_key, parent, flow, tenant, extra)
SELECT id, seq, epoch, run_at, created_at, started_at, n.now, expires_at, cancel_at, epoch, rank, attempt,
       max_attempts, crashes, group_limit, progress, 'done', queue, kind, payload, worker, 'done', progress_note, result,
       unique_hash, group_key, parent, flow, tenant, extra
FROM gone, n
