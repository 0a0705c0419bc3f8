-- resume: the queue is claimed from again.
UPDATE tenure.queues SET paused_at = NULL WHERE name = :queue::text AND paused_at IS NOT NULL
