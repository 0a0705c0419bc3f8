-- counts_capped: the same, looking at no more than the newest :cap finished and :cap other jobs.
SELECT queue, state, count(*) AS count FROM (SELECT queue, state FROM tenure.jobs LIMIT :cap::bigint) j GROUP BY queue, state
UNION ALL
SELECT queue, state, count(*) FROM (
    SELECT queue, state FROM tenure.finished ORDER BY id DESC LIMIT :cap::bigint) f GROUP BY queue, state
UNION ALL
SELECT name, 'ready', 0 FROM tenure.queues
