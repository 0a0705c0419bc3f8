-- progress: how far a held job is.
UPDATE tenure_jobs SET progress = :progress, progress_note = :note
WHERE id = :id AND epoch = :epoch AND state = 'running'
