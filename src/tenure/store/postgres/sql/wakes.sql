-- wakes: the groups somebody left word about.
-- Only on postgres: a SQLite transaction is alone anyway.
SELECT DISTINCT group_key FROM (SELECT group_key FROM tenure.wakes LIMIT :limit::integer) w
