-- pause_schedule: the schedule fires no more.
UPDATE tenure_schedules SET paused_at = :now WHERE name = :name AND paused_at IS NULL
