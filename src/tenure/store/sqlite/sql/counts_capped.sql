-- counts_capped: the same, looking at no more than the newest :cap finished and :cap other jobs.
SELECT queue, state, count(*) AS count FROM (
    SELECT * FROM (SELECT queue, state FROM tenure_jobs WHERE finished_at IS NULL ORDER BY seq DESC LIMIT :cap)
    UNION ALL
    SELECT * FROM (SELECT queue, state FROM tenure_jobs WHERE finished_at IS NOT NULL ORDER BY seq DESC LIMIT :cap)
) GROUP BY queue, state
UNION ALL
SELECT name, 'ready', 0 FROM tenure_queues
