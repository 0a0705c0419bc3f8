-- paused: the queues that are paused, and since when.
SELECT name, paused_at FROM tenure_queues WHERE paused_at IS NOT NULL ORDER BY name
