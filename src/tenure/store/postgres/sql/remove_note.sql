-- remove_note: takes a note away, if it says this or whatever it says.
DELETE FROM tenure.notes
WHERE name = :name::text AND (:anyway::boolean OR (value = :expect::text AND (until IS NULL OR until > tenure.micros(:now::bigint))))
