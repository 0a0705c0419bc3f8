-- hooked: tells of these dead jobs, once for each hook of their kind; the jobs of a hook have none themselves.
WITH r AS MATERIALIZED (SELECT * FROM json_to_recordset(:ids::text::json) AS r(id uuid))
SELECT h.hook, h.queue AS hook_queue, h.priority, h.max_attempts AS hook_attempts, j.id::text AS id, j.epoch, j.kind, j.queue,
       CASE WHEN length(j.payload) <= :longest::integer THEN j.payload END AS payload, j.attempt, j.max_attempts, j.crashes,
       j.reason, j.error, j.created_at, j.finished_at, j.tenant, j.extra
FROM r JOIN tenure.finished j ON j.id = r.id
JOIN tenure.hooks h ON h.kind IN (j.kind, '*')
WHERE j.state = 'dead' AND NOT EXISTS (SELECT 1 FROM tenure.hooks o WHERE o.hook = j.kind)
ORDER BY j.id, h.hook, h.kind = '*'
