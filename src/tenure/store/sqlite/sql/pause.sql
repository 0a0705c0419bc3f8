-- pause: nothing more is claimed from this queue.
INSERT INTO tenure_queues (name, paused_at) VALUES (:queue, :now)
ON CONFLICT (name) DO UPDATE SET paused_at = coalesce(tenure_queues.paused_at, excluded.paused_at)
