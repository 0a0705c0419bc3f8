-- pause: nothing more is claimed from this queue.
INSERT INTO tenure.queues (name, paused_at) VALUES (:queue::text, tenure.micros(:now::bigint))
ON CONFLICT (name) DO UPDATE SET paused_at = coalesce(tenure.queues.paused_at, excluded.paused_at)
