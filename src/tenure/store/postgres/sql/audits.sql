-- audits: what was done by people, newest first; of what has begun, how it ended, else how far it came.
SELECT a.id::text, a.at, a.who, a.action, a.what, coalesce(e.count, a.count) AS count, coalesce(e.said, a.said) AS said,
    e.at AS ended_at, n.value AS far
FROM tenure.audit a
LEFT JOIN tenure.audit e ON e.id = (left(a.id::text, 28) || 'eeeeeeee')::uuid
LEFT JOIN tenure.notes n ON n.name = 'audit.' || a.id::text
WHERE a.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) AND right(a.id::text, 8) <> 'eeeeeeee'
ORDER BY a.id DESC LIMIT :limit::integer
