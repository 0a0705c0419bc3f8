-- wakes: the groups somebody left word about that can be decided about now; the locks are held until it ends.
-- Only on postgres: a SQLite transaction is alone anyway.
SELECT group_key FROM (SELECT DISTINCT group_key FROM tenure.wakes OFFSET 0) w
WHERE pg_try_advisory_xact_lock(hashtext('tenure.groups'), hashtext(group_key) & 2047)
LIMIT :limit::integer
