-- resume: the queue is claimed from again.
UPDATE tenure_queues SET paused_at = NULL WHERE name = :queue AND paused_at IS NOT NULL
