-- change_note: puts another note in the place of one that says this.
UPDATE tenure_notes SET value = :value, until = :now + :keep
WHERE name = :name AND value = :expect AND (until IS NULL OR until > :now)
