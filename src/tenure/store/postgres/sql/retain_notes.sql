-- retain_notes: forgets notes that are over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
DELETE FROM tenure.notes WHERE name IN (
    SELECT name FROM tenure.notes WHERE until <= (SELECT now FROM n) LIMIT :limit::integer FOR UPDATE SKIP LOCKED)
