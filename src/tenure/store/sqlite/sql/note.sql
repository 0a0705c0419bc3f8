-- note: what a note says, unless it is over.
SELECT value FROM tenure_notes WHERE name = :name AND (until IS NULL OR until > :now)
