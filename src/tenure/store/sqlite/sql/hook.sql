-- hook: stores a hook, or changes one that makes its jobs otherwise.
INSERT INTO tenure_hooks AS h (kind, hook, queue, priority, max_attempts)
VALUES (:kind, :hook, :queue, :priority, :max_attempts)
ON CONFLICT (kind, hook) DO UPDATE SET
    queue = excluded.queue, priority = excluded.priority, max_attempts = excluded.max_attempts
WHERE (h.queue, h.priority, h.max_attempts) IS NOT (excluded.queue, excluded.priority, excluded.max_attempts)
