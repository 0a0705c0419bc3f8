-- audits: what was done by people, newest first; of what has begun, how it ended, else how far it came.
SELECT a.id, a.at, a.who, a.action, a.what, coalesce(e.count, a.count) AS count, coalesce(e.said, a.said) AS said,
    e.at AS ended_at, n.value AS far
FROM tenure_audit a
LEFT JOIN tenure_audit e ON e.id = substr(a.id, 1, 28) || 'eeeeeeee'
LEFT JOIN tenure_notes n ON n.name = 'audit.' || a.id
WHERE a.id < coalesce(:before, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AND substr(a.id, 29) <> 'eeeeeeee'
ORDER BY a.id DESC LIMIT :limit
