-- schedules: every schedule, and the store's time.
SELECT name, cron, tz, missed, kind, payload, options, source, created_at, updated_at, since, fired_at, paused_at, made, :now AS now
FROM tenure_schedules ORDER BY name
