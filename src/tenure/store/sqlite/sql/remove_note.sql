-- remove_note: takes a note away, if it says this or whatever it says.
DELETE FROM tenure_notes
WHERE name = :name AND (:anyway OR (value = :expect AND (until IS NULL OR until > :now)))
