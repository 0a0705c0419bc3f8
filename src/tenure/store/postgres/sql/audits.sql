-- audits: what was done by people, newest first.
SELECT id::text, at, who, action, what, count, said FROM tenure.audit
WHERE id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
ORDER BY audit.id DESC LIMIT :limit::integer
