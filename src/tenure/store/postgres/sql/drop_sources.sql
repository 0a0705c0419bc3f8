-- drop_sources: removes the minutes of an hour as single ones counted them, once they are merged.
DELETE FROM tenure.rollups WHERE span = 1 AND minute >= :hour::bigint AND minute < :hour::bigint + 60 AND source <> ''
