-- enqueue_undo: jobs that were stored beside their own end, which came just before, are taken back.
-- Only on postgres: a SQLite transaction that writes is alone.
DELETE FROM tenure.jobs j USING tenure.finished f
WHERE j.id = ANY (ARRAY(SELECT r.id FROM json_to_recordset(:ids::text::json) AS r(id uuid))) AND f.id = j.id
RETURNING j.id::text AS id
