-- requeue: gives locked jobs back to the line.
UPDATE tenure.jobs j
SET state = r.state, epoch = r.epoch, settled_epoch = coalesce(r.settled_epoch, j.settled_epoch),
    trace = CASE WHEN r.trace IS NULL THEN j.trace ELSE right(coalesce(j.trace, ',') || r.trace, 200) END,
    outcome = coalesce(r.outcome, j.outcome), attempt = r.attempt, crashes = r.crashes, run_at = r.run_at,
    error = coalesce(r.error, j.error), held = r.held, started_at = r.started_at, doubt = r.doubt, lease_until = NULL, worker = NULL
FROM (
    SELECT r.*, k.at FROM json_to_recordset(:rows::text::json) AS r(
        id uuid, epoch bigint, settled_epoch bigint, trace text, outcome text, attempt integer, crashes integer, run_at bigint,
        state text, error text, held boolean, started_at bigint, doubt smallint)
    CROSS JOIN LATERAL (SELECT k.ctid AS at FROM tenure.jobs k WHERE k.id = r.id OFFSET 0) k) r
WHERE j.ctid = r.at
