-- drop_sources: takes out the minutes of an hour as single ones counted them, so that they are merged, and each once.
DELETE FROM tenure_rollups WHERE span = 1 AND minute >= :hour AND minute < :hour + 60 AND source <> ''
RETURNING minute, queue, kind, done, failed, dead, cancelled, waited, ran
