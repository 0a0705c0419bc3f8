-- next_fold: the first hour that is over and not merged yet.
SELECT min(minute) / 60 * 60 AS hour FROM tenure_rollups
WHERE span = 1 AND minute >= coalesce((SELECT max(minute) + 60 FROM tenure_rollups WHERE span = 60), 0)
  AND minute < (:now / 60000000 - :late) / 60 * 60
