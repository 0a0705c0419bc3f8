-- fire: one fire is taken, by the first who asks, if the schedule still stands as it was read; its job is kept with it, before the last five.
-- Differs from sqlite: a schedule that somebody else is firing is passed by, not waited for.
UPDATE tenure.schedules SET fired_at = :fire::bigint, made = left(:id::text || ' ' || made, 222)
WHERE name = (
    SELECT s.name FROM tenure.schedules s
    WHERE s.name = :name::text AND (s.fired_at IS NULL OR s.fired_at < :fire::bigint) AND s.since < :fire::bigint
        AND s.updated_at = :updated_at::bigint AND s.paused_at IS NULL
    FOR UPDATE SKIP LOCKED
)
