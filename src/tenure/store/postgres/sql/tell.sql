-- tell: wakes who sleeps, once the transaction commits.
-- Only on postgres: on SQLite the commit itself is heard.
SELECT pg_notify(channel, '') AS told FROM tenure.sleepers WHERE until > tenure.micros(:now::bigint) LIMIT 1
