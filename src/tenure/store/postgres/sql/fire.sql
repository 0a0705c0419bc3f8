-- fire: one fire is taken, by the first who asks, if the schedule still stands as it was read.
UPDATE tenure.schedules SET fired_at = :fire::bigint
WHERE name = :name::text AND (fired_at IS NULL OR fired_at < :fire::bigint) AND since < :fire::bigint
    AND updated_at = :updated_at::bigint AND paused_at IS NULL
