-- retain_rollups: forgets figures of minutes, or of hours, that are older than this.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
DELETE FROM tenure.rollups
WHERE span = :span::integer AND minute < ((SELECT now FROM n) / 60000000 - :age::bigint) / 60 * 60
