-- workers: who has been seen lately.
SELECT id, started_at, seen_at, queues, kinds, about FROM tenure_workers
WHERE seen_at > :now - :alive ORDER BY started_at, id
