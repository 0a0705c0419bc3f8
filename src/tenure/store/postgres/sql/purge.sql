-- purge: deletes these finished jobs, with all that belongs to them.
WITH p AS MATERIALIZED (
    SELECT id FROM tenure.finished
    WHERE id IN (SELECT id FROM json_to_recordset(:ids::text::json) AS r(id uuid)) FOR UPDATE SKIP LOCKED
),
a AS (DELETE FROM tenure.attempts WHERE job_id IN (SELECT id FROM p)),
r AS (DELETE FROM tenure.requests WHERE job_id IN (SELECT id FROM p))
DELETE FROM tenure.finished WHERE id IN (SELECT id FROM p)
