-- leave: a worker says goodbye.
DELETE FROM tenure.workers WHERE id = :worker::text
