-- add_rollups: adds what one who counts has counted to this minute; histograms put together are both.
INSERT INTO tenure_rollups (span, minute, source, queue, kind, done, failed, dead, cancelled, waited, ran)
SELECT 1, :now / 60000000, :source, json_extract(value, '$.queue'), json_extract(value, '$.kind'), json_extract(value, '$.done'),
       json_extract(value, '$.failed'), json_extract(value, '$.dead'), json_extract(value, '$.cancelled'),
       json_extract(value, '$.waited'), json_extract(value, '$.ran')
FROM json_each(:rows) WHERE true
ON CONFLICT (span, minute, source, queue, kind) DO UPDATE SET
    done = tenure_rollups.done + excluded.done, failed = tenure_rollups.failed + excluded.failed,
    dead = tenure_rollups.dead + excluded.dead, cancelled = tenure_rollups.cancelled + excluded.cancelled,
    waited = tenure_rollups.waited || excluded.waited, ran = tenure_rollups.ran || excluded.ran
