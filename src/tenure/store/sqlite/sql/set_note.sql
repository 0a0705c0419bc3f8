-- set_note: puts a note down where there is none, or in the place of any.
INSERT INTO tenure_notes (name, value, until) VALUES (:name, :value, :now + :keep)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until
WHERE :anyway OR tenure_notes.until <= :now
