-- echo: a watch calls itself, to learn whether it still hears.
-- Only on postgres: on SQLite there is no connection to fall silent.
SELECT pg_notify(:channel::text, :id::text) AS told
