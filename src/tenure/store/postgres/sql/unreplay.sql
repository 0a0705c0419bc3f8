-- unreplay: jobs that were replayed and not claimed since are finished again, as they were.
WITH j AS MATERIALIZED (
    SELECT k.*, k.was::json AS w FROM tenure.jobs k
    WHERE k.id = ANY (ARRAY(SELECT r.id FROM json_to_recordset(:ids::text::json) AS r(id uuid)))
      AND (k.was::json ->> 'epoch')::bigint = k.epoch
    ORDER BY k.id FOR UPDATE
), gone AS (
    DELETE FROM tenure.jobs d USING j WHERE d.id = j.id
), back AS (
    INSERT INTO tenure.finished (
        id, seq, epoch, run_at, created_at, started_at, finished_at, expires_at, cancel_at, settled_epoch, trace, rank, attempt,
        max_attempts, crashes, group_limit, progress, state, queue, kind, payload, worker, outcome, reason, error,
        progress_note, result, unique_hash, group_key, parent, flow, tenant, extra, was)
    SELECT id, seq, epoch, (w ->> 'run_at')::bigint, created_at, (w ->> 'started_at')::bigint, (w ->> 'finished_at')::bigint,
           (w ->> 'expires_at')::bigint, (w ->> 'cancel_at')::bigint, settled_epoch, w ->> 'trace', rank,
           (w ->> 'attempt')::integer, max_attempts, (w ->> 'crashes')::integer, group_limit,
           (w ->> 'progress')::double precision, w ->> 'state', queue, kind, payload, w ->> 'worker', outcome, w ->> 'reason',
           w ->> 'error', w ->> 'progress_note', w ->> 'result', unique_hash, group_key, parent, flow, tenant, extra,
           w ->> 'was'
    FROM j
    RETURNING id, group_key
)
SELECT id::text AS id, group_key FROM back
