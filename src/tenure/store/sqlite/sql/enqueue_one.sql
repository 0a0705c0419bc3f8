-- enqueue_one: enqueue for a single row without options, without unpacking.
INSERT INTO tenure_jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, state)
VALUES (:id, :lane, :queue, :kind, :rank, :payload, :max_attempts, :now, :now, 'ready')
ON CONFLICT DO NOTHING
