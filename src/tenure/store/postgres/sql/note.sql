-- note: what a note says, unless it is over.
SELECT value FROM tenure.notes WHERE name = :name::text AND (until IS NULL OR until > tenure.micros(:now::bigint))
