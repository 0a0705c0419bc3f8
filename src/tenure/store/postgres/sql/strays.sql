-- strays: hours before this one with figures that came after they were merged, as far back as minutes are surely whole.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT DISTINCT minute / 60 * 60 AS hour FROM tenure.rollups
WHERE span = 1 AND minute >= (SELECT now FROM n) / 60000000 - :back::bigint AND minute < :hour::bigint AND source <> ''
