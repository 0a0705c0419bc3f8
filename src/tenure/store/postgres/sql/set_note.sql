-- set_note: puts a note down where there is none, or in the place of any.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
INSERT INTO tenure.notes AS t (name, value, until)
SELECT :name::text, :value::text, n.now + :keep::bigint FROM n
ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until
WHERE :anyway::boolean OR t.until <= (SELECT now FROM n)
