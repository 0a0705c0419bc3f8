-- drop_sources: takes out the minutes of an hour as single ones counted them, so that they are merged, and each once.
DELETE FROM tenure.rollups WHERE span = 1 AND minute >= :hour::bigint AND minute < :hour::bigint + 60 AND source <> ''
RETURNING minute, queue, kind, done, failed, dead, cancelled, waited, ran
