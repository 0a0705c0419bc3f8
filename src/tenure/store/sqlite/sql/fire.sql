-- fire: one fire is taken, by the first who asks, if the schedule still stands as it was read.
-- Differs from postgres: whoever writes is alone, so nobody has to be passed by.
UPDATE tenure_schedules SET fired_at = :fire
WHERE name = :name AND (fired_at IS NULL OR fired_at < :fire) AND since < :fire
    AND updated_at = :updated_at AND paused_at IS NULL
