-- change_note: puts another note in the place of one that says this.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
UPDATE tenure.notes SET value = :value::text, until = (SELECT now FROM n) + :keep::bigint
WHERE name = :name::text AND value = :expect::text AND (until IS NULL OR until > (SELECT now FROM n))
