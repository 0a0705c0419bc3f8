-- purge: deletes these finished jobs, with all that belongs to them.
-- Differs from postgres: a trigger takes what belongs to them.
DELETE FROM tenure_jobs WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND finished_at IS NOT NULL
