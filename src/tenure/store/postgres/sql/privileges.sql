-- privileges: what this role may not do, by who would need it: those that enqueue, or those that work.
-- Only on postgres: who may open a file may do everything in it.
SELECT CASE WHEN p.privilege = ANY (e.privileges) THEN 'enqueue' ELSE 'work' END AS need,
       t.relname::text AS object, p.privilege
FROM pg_class t
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p(privilege)
LEFT JOIN (VALUES
    ('tenure.jobs'::regclass, ARRAY['SELECT', 'INSERT']),
    ('tenure.finished'::regclass, ARRAY['SELECT']),
    ('tenure.ledger'::regclass, ARRAY['SELECT', 'INSERT', 'UPDATE']),
    ('tenure.requests'::regclass, ARRAY['INSERT']),
    ('tenure.sleepers'::regclass, ARRAY['SELECT']),
    ('tenure.wakes'::regclass, ARRAY['INSERT'])
) AS e(oid, privileges) ON e.oid = t.oid
WHERE t.relnamespace = (SELECT j.relnamespace FROM pg_class j WHERE j.oid = 'tenure.jobs'::regclass)
  AND t.relkind = 'r' AND t.relname <> 'meta' AND NOT has_table_privilege(t.oid, p.privilege)
  -- No statement asks for these.
  AND (t.relname, p.privilege) NOT IN (
      ('audit', 'UPDATE'), ('audit', 'DELETE'), ('queues', 'DELETE'), ('requests', 'UPDATE'), ('samples', 'UPDATE'),
      ('wakes', 'UPDATE'))
UNION ALL
SELECT 'enqueue', 'jobs', 'UPDATE (state, held)'
WHERE NOT (has_column_privilege('tenure.jobs', 'state', 'UPDATE') AND has_column_privilege('tenure.jobs', 'held', 'UPDATE'))
ORDER BY need, object, privilege
