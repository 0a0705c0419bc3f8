-- add_rollups: adds what one who counts has counted to this minute; histograms put together are both.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
INSERT INTO tenure.rollups AS t (span, minute, source, queue, kind, done, failed, dead, cancelled, waited, ran)
SELECT 1, n.now / 60000000, :source::text, r.queue, r.kind, r.done, r.failed, r.dead, r.cancelled, r.waited, r.ran
FROM n, json_to_recordset(:rows::text::json) AS r(
    queue text, kind text, done bigint, failed bigint, dead bigint, cancelled bigint, waited text, ran text)
ON CONFLICT (span, minute, source, queue, kind) DO UPDATE SET
    done = t.done + excluded.done, failed = t.failed + excluded.failed, dead = t.dead + excluded.dead,
    cancelled = t.cancelled + excluded.cancelled,
    waited = t.waited || excluded.waited, ran = t.ran || excluded.ran
