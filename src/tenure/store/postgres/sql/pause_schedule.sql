-- pause_schedule: the schedule fires no more.
UPDATE tenure.schedules SET paused_at = tenure.micros(:now::bigint) WHERE name = :name::text AND paused_at IS NULL
