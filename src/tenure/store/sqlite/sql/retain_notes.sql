-- retain_notes: forgets notes that are over.
DELETE FROM tenure_notes WHERE name IN (SELECT name FROM tenure_notes WHERE until <= :now LIMIT :limit)
