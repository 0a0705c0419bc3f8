-- strays: hours before this one with figures that came after they were merged, as far back as minutes are surely whole.
SELECT DISTINCT minute / 60 * 60 AS hour FROM tenure_rollups
WHERE span = 1 AND minute >= :now / 60000000 - :back AND minute < :hour AND source <> ''
