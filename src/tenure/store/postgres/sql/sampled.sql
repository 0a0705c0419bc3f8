-- sampled: whether somebody has put down how the queues stand in this minute.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT EXISTS (SELECT FROM tenure.samples s WHERE s.minute = (SELECT now FROM n) / 60000000) AS sampled
