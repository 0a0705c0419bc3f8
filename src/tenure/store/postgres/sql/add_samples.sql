-- add_samples: puts down how the queues stand in this minute; what somebody has put down stays.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
INSERT INTO tenure.samples (minute, queue, ready, running, oldest, busy, slots)
SELECT n.now / 60000000, r.queue, r.ready, r.running, r.oldest, r.busy, r.slots
FROM n, json_to_recordset(:rows::text::json) AS r(
    queue text, ready bigint, running bigint, oldest bigint, busy bigint, slots bigint)
ON CONFLICT (minute, queue) DO NOTHING
