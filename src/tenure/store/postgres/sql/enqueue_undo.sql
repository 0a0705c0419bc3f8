-- enqueue_undo: jobs that were stored beside their own end, which came just before, are taken back.
-- Only on postgres: a SQLite transaction that writes is alone.
SELECT u.id::text AS id
FROM tenure.enqueue_undo(ARRAY(SELECT r.id FROM json_to_recordset(:ids::text::json) AS r(id uuid))) AS u(id)
