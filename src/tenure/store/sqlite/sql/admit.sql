-- admit: makes the first waiting jobs of each group ready, as many as its limit leaves room for.
-- Differs from postgres: numbers a group's waiting jobs, since a SQLite LIMIT cannot look at another column.
UPDATE tenure_jobs SET state = 'ready', held = 1
WHERE seq IN (
    SELECT w.seq FROM (
        SELECT j.seq, j.group_key, row_number() OVER line AS place, first_value(j.group_limit) OVER line AS room
        FROM (SELECT DISTINCT json_extract(value, '$.group_key') AS group_key FROM json_each(:groups)) g
        CROSS JOIN tenure_jobs j ON j.seq IN (
            SELECT k.seq FROM tenure_jobs k WHERE k.state = 'waiting' AND k.group_key = g.group_key
            ORDER BY k.rank, k.run_at, k.seq LIMIT (
                SELECT coalesce(max((SELECT h.group_limit FROM tenure_jobs h WHERE h.state = 'waiting' AND h.group_key = json_extract(o.value, '$.group_key')
                            ORDER BY h.rank, h.run_at, h.seq LIMIT 1)), 1) FROM json_each(:groups) o))
        WINDOW line AS (PARTITION BY j.group_key ORDER BY j.rank, j.run_at, j.seq)
    ) w
    WHERE w.place <= w.room - (SELECT count(*) FROM tenure_jobs h WHERE h.group_key = w.group_key AND h.held IS NOT NULL)
)
