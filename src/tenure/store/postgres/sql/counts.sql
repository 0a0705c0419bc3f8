-- counts: how many jobs stand in each state of each queue, exactly.
SELECT queue, state, count(*) AS count FROM tenure.jobs GROUP BY queue, state
UNION ALL
SELECT queue, state, count(*) FROM tenure.finished GROUP BY queue, state
UNION ALL
SELECT name, 'ready', 0 FROM tenure.queues
