-- rollups: figures by minute where minutes are kept and asked for, by hour elsewhere.
WITH edge AS MATERIALIZED (
    SELECT CASE WHEN :hourly
           THEN coalesce((SELECT max(minute) + 60 FROM tenure_rollups WHERE span = 60), 0)
           ELSE coalesce((SELECT min(minute) / 60 * 60 FROM tenure_rollups WHERE span = 1),
                         (SELECT max(minute) + 60 FROM tenure_rollups WHERE span = 60), 0) END AS minute)
SELECT r.minute, r.queue, r.kind, r.done, r.failed, r.dead, r.cancelled, r.waited, r.ran FROM tenure_rollups r
WHERE r.span = 60 AND r.minute >= :since AND r.minute < :until AND r.minute < (SELECT minute FROM edge)
  AND (:queues IS NULL OR r.queue IN (SELECT value FROM json_each(:queues)))
UNION ALL
SELECT r.minute, r.queue, r.kind, r.done, r.failed, r.dead, r.cancelled, r.waited, r.ran FROM tenure_rollups r
WHERE r.span = 1 AND r.minute >= :since AND r.minute < :until AND r.minute >= (SELECT minute FROM edge)
  AND (:queues IS NULL OR r.queue IN (SELECT value FROM json_each(:queues)))
