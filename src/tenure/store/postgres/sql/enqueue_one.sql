-- enqueue_one: enqueue for a single row without options, under an id made for it: nothing to unpack, nothing to meet.
-- Differs from sqlite: tells who sleeps.
INSERT INTO tenure.jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, state)
SELECT :id::uuid, :lane::text, :queue::text, :kind::text, :rank::integer, :payload::text, :max_attempts::integer, now, now, 'ready'
FROM (SELECT tenure.micros(:now::bigint) AS now OFFSET 0) n
LEFT JOIN LATERAL (SELECT pg_notify(s.channel, '') FROM tenure.sleepers s WHERE s.until > n.now LIMIT 1) told ON true
