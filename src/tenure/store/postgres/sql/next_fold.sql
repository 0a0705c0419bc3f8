-- next_fold: the first hour that is over and not merged yet.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT min(minute) / 60 * 60 AS hour FROM tenure.rollups
WHERE span = 1 AND minute >= coalesce((SELECT max(minute) + 60 FROM tenure.rollups WHERE span = 60), 0)
  AND minute < ((SELECT now FROM n) / 60000000 - :late::bigint) / 60 * 60
