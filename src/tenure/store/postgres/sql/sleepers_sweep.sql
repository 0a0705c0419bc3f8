-- sleepers_sweep: rows of watches that nobody renewed are swept away.
-- Only on postgres: on SQLite the commit itself is heard.
WITH n AS MATERIALIZED (SELECT tenure.micros(NULL) AS now)
DELETE FROM tenure.sleepers
WHERE id IN (SELECT s.id FROM tenure.sleepers s, n WHERE s.until < n.now FOR UPDATE OF s SKIP LOCKED)
