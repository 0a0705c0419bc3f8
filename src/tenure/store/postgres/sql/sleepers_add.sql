-- sleepers_add: a watch asks to be told of new jobs, for a while.
-- Only on postgres: on SQLite the commit itself is heard.
INSERT INTO tenure.sleepers (id, channel, until) VALUES (:id::text, :channel::text, tenure.micros(NULL) + :length::bigint)
ON CONFLICT (id) DO UPDATE SET until = excluded.until
