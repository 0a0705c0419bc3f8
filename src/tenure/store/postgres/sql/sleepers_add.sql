-- sleepers_add: a watch asks to be told of new jobs, for a while; rows that nobody renewed are swept away.
-- Only on postgres: on SQLite the commit itself is heard.
WITH n AS MATERIALIZED (SELECT tenure.micros(NULL) AS now),
gone AS (
    DELETE FROM tenure.sleepers
    WHERE id IN (SELECT s.id FROM tenure.sleepers s, n WHERE s.until < n.now AND s.id <> :id::text FOR UPDATE OF s SKIP LOCKED)
)
INSERT INTO tenure.sleepers (id, channel, until) SELECT :id::text, :channel::text, n.now + :length::bigint FROM n
ON CONFLICT (id) DO UPDATE SET until = excluded.until
