-- beat: a worker says that it lives, and what it can do.
INSERT INTO tenure_workers (id, started_at, seen_at, queues, kinds, about) VALUES (:worker, :now, :now, :queues, :kinds, :about)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, queues = excluded.queues, kinds = excluded.kinds, about = excluded.about
