-- fire: one fire is taken, by the first who asks, if the schedule still stands as it was read; its job is kept with it, before the last five.
-- Differs from postgres: whoever writes is alone, so nobody has to be passed by.
UPDATE tenure_schedules SET fired_at = :fire, made = substr(:id || ' ' || made, 1, 222)
WHERE name = :name AND (fired_at IS NULL OR fired_at < :fire) AND since < :fire
    AND updated_at = :updated_at AND paused_at IS NULL
