-- finish: moves locked jobs to the history with their last state.
WITH r AS MATERIALIZED (
    SELECT r.*, k.at FROM json_to_recordset(:rows::text::json) AS r(
        id uuid, epoch bigint, settled_epoch bigint, finished_at bigint, attempt integer, crashes integer, state text,
        outcome text, reason text, error text, result text)
    CROSS JOIN LATERAL (SELECT j.ctid AS at FROM tenure.jobs j WHERE j.id = r.id OFFSET 0) k
), gone AS (
    DELETE FROM tenure.jobs j USING r WHERE j.ctid = r.at
    RETURNING j.*, r.epoch AS new_epoch, r.settled_epoch AS new_settled, r.finished_at, r.attempt AS new_attempt,
              r.crashes AS new_crashes, r.state AS new_state, r.outcome AS new_outcome, r.reason AS new_reason,
              r.error AS new_error, r.result
)
INSERT INTO tenure.finished (
    id, seq, epoch, run_at, created_at, started_at, finished_at, expires_at, cancel_at, settled_epoch, trace, rank, attempt,
    max_attempts, crashes, group_limit, progress, state, queue, kind, payload, worker, outcome, reason, error,
    progress_note, result, unique_hash, group_key, parent, flow, tenant, extra)
SELECT id, seq, coalesce(new_epoch, epoch), run_at, created_at, started_at, finished_at, expires_at, cancel_at,
       coalesce(new_settled, settled_epoch), trace, rank, coalesce(new_attempt, attempt), max_attempts,
       coalesce(new_crashes, crashes), group_limit, progress, new_state, queue, kind, payload, worker, new_outcome,
       CASE new_state WHEN 'done' THEN NULL WHEN 'cancelled' THEN coalesce(new_reason, reason, 'cancelled') ELSE new_reason END,
       CASE WHEN new_state = 'done' THEN NULL ELSE coalesce(new_error, error) END, progress_note, result,
       unique_hash, group_key, parent, flow, tenant, extra
FROM gone
