-- leave: a worker says goodbye.
DELETE FROM tenure_workers WHERE id = :worker
