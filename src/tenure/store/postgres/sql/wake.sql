-- wake: leaves word that these groups are to be looked at; the next claim does.
-- Only on postgres: a SQLite transaction is alone anyway.
INSERT INTO tenure.wakes (group_key) SELECT group_key FROM json_to_recordset(:groups::text::json) AS g(group_key text)
