-- audits: what was done by people, newest first; of what has begun, how it ended, else how far it came.
SELECT a.id::text, a.at, a.who, a.action, a.what, coalesce(e.count, a.count) AS count, coalesce(e.said, a.said) AS said,
    e.at AS ended_at, n.value AS far
FROM tenure.audit a
LEFT JOIN tenure.audit e ON e.id = overlay(a.id::text PLACING '81' FROM 15)::uuid
LEFT JOIN tenure.notes n ON n.name = 'audit.' || a.id::text
WHERE a.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) AND substr(a.id::text, 15, 2) <> '81'
ORDER BY a.id DESC LIMIT :limit::integer
