-- drop_sources: removes the minutes of an hour as single ones counted them, once they are merged.
DELETE FROM tenure_rollups WHERE span = 1 AND minute >= :hour AND minute < :hour + 60 AND source <> ''
