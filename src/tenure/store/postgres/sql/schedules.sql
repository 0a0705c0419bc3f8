-- schedules: every schedule, and the store's time.
SELECT name, cron, tz, missed, kind, payload, options, source, created_at, updated_at, since, fired_at, paused_at, made, n.now
FROM tenure.schedules, (SELECT tenure.micros(:now::bigint) AS now) n ORDER BY name
