-- minutes: an hour's figures that were merged before, minute by minute.
SELECT minute, queue, kind, done, failed, dead, cancelled, waited, ran FROM tenure_rollups
WHERE span = 1 AND minute >= :hour AND minute < :hour + 60 AND source = ''
