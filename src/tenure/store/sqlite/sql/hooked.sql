-- hooked: tells of these dead jobs, once for each hook of their kind; the jobs of a hook have none themselves.
-- Differs from postgres: the history is the same table.
SELECT h.hook, h.queue AS hook_queue, h.priority, h.max_attempts AS hook_attempts, j.id, j.epoch, j.kind, j.queue,
       CASE WHEN length(j.payload) <= :longest THEN j.payload END AS payload, j.attempt, j.max_attempts, j.crashes,
       j.reason, j.error, j.created_at, j.finished_at, j.tenant, j.extra
FROM json_each(:ids) r
CROSS JOIN tenure_jobs j ON j.id = json_extract(r.value, '$.id')
CROSS JOIN tenure_hooks h ON h.kind IN (j.kind, '*')
WHERE +j.state = 'dead' AND NOT EXISTS (SELECT 1 FROM tenure_hooks o WHERE o.hook = j.kind)
ORDER BY j.id, h.hook, h.kind = '*'
