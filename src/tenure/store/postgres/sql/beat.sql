-- beat: a worker says that it lives, and what it can do.
INSERT INTO tenure.workers (id, started_at, seen_at, queues, kinds, about)
SELECT :worker::text, n.now, n.now, :queues::text, :kinds::text, :about::text FROM (SELECT tenure.micros(:now::bigint) AS now) n
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, queues = excluded.queues, kinds = excluded.kinds, about = excluded.about
