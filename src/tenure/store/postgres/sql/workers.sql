-- workers: who has been seen lately.
SELECT id, started_at, seen_at, queues, kinds, about FROM tenure.workers
WHERE seen_at > tenure.micros(:now::bigint) - :alive::bigint ORDER BY started_at, id
