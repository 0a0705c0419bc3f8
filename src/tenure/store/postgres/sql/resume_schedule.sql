-- resume_schedule: the schedule fires again, from now on.
UPDATE tenure.schedules SET paused_at = NULL, since = greatest(since, tenure.micros(:now::bigint))
WHERE name = :name::text AND paused_at IS NOT NULL
