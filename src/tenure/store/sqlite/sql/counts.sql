-- counts: how many jobs stand in each state of each queue, exactly.
SELECT queue, state, count(*) AS count FROM tenure_jobs GROUP BY queue, state
UNION ALL
SELECT name, 'ready', 0 FROM tenure_queues
