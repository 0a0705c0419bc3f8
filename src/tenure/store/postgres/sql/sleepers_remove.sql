-- sleepers_remove: a watch need not be told any more.
-- Only on postgres: on SQLite the commit itself is heard.
DELETE FROM tenure.sleepers WHERE id = :id::text
