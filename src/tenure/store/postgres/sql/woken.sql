-- woken: the words about these groups are dealt with.
-- Only on postgres: a SQLite transaction is alone anyway.
DELETE FROM tenure.wakes WHERE group_key IN (SELECT group_key FROM json_to_recordset(:groups::text::json) AS g(group_key text))
