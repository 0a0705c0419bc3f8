-- enqueue_one: enqueue for a single row without options, under an id made for it: nothing to unpack, nothing to meet.
INSERT INTO tenure_jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, state)
VALUES (:id, :lane, :queue, :kind, :rank, :payload, :max_attempts, :now, :now, 'ready')
