-- named: the queue and kind of these jobs.
-- Differs from sqlite: some may be in the history.
WITH r AS MATERIALIZED (SELECT * FROM json_to_recordset(:ids::text::json) AS r(id uuid))
SELECT j.id::text AS id, j.queue, j.kind
FROM r CROSS JOIN LATERAL (
    SELECT a.id, a.queue, a.kind FROM tenure.jobs a WHERE a.id = r.id
    UNION ALL
    SELECT f.id, f.queue, f.kind FROM tenure.finished f WHERE f.id = r.id OFFSET 0) j
