-- schedule: stores a schedule, or changes one whose spec is another; a changed time begins anew.
INSERT INTO tenure_schedules AS s (name, cron, tz, missed, kind, payload, options, source, created_at, updated_at, since)
VALUES (:name, :cron, :tz, :missed, :kind, :payload, :options, :source, :now, :now, :now)
ON CONFLICT (name) DO UPDATE SET
    cron = excluded.cron, tz = excluded.tz, missed = excluded.missed, kind = excluded.kind,
    payload = excluded.payload, options = excluded.options, source = excluded.source, updated_at = excluded.updated_at,
    since = CASE WHEN (s.cron, s.tz) IS (excluded.cron, excluded.tz) THEN s.since ELSE excluded.since END
WHERE (s.cron, s.tz, s.missed, s.kind, s.payload, s.options, s.source)
    IS NOT (excluded.cron, excluded.tz, excluded.missed, excluded.kind, excluded.payload, excluded.options, excluded.source)
