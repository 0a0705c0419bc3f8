-- purge: deletes these finished jobs, with all that belongs to them.
WITH p AS MATERIALIZED (SELECT id FROM json_to_recordset(:ids::text::json) AS r(id uuid)),
a AS (DELETE FROM tenure.attempts WHERE job_id IN (SELECT p.id FROM p JOIN tenure.finished f ON f.id = p.id)),
r AS (DELETE FROM tenure.requests WHERE job_id IN (SELECT p.id FROM p JOIN tenure.finished f ON f.id = p.id))
DELETE FROM tenure.finished WHERE id IN (SELECT id FROM p)
