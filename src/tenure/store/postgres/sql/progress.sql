-- progress: how far a held job is.
UPDATE tenure.jobs SET progress = :progress::double precision, progress_note = :note::text
WHERE id = :id::uuid AND epoch = :epoch::bigint AND state = 'running'
