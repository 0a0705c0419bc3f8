-- minutes: an hour's figures, minute by minute, as each of those who count has counted them.
SELECT minute, queue, kind, done, failed, dead, cancelled, waited, ran FROM tenure.rollups
WHERE span = 1 AND minute >= :hour::bigint AND minute < :hour::bigint + 60
