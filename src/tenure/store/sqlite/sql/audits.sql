-- audits: what was done by people, newest first.
SELECT id, at, who, action, what, count, said FROM tenure_audit
WHERE id < coalesce(:before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY id DESC LIMIT :limit
