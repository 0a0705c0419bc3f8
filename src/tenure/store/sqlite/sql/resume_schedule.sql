-- resume_schedule: the schedule fires again, from now on.
UPDATE tenure_schedules SET paused_at = NULL, since = max(since, :now) WHERE name = :name AND paused_at IS NOT NULL
