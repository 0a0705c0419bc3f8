-- minutes: an hour's figures that were merged before, minute by minute.
SELECT minute, queue, kind, done, failed, dead, cancelled, waited, ran FROM tenure.rollups
WHERE span = 1 AND minute >= :hour::bigint AND minute < :hour::bigint + 60 AND source = ''
