-- samples: how the queues stood, by step: the most that was put down in each.
SELECT minute / :step::bigint * :step::bigint AS minute, queue, max(ready) AS ready, max(running) AS running, max(oldest) AS oldest,
       max(busy) AS busy, max(slots) AS slots
FROM tenure.samples WHERE minute >= :since::bigint AND minute < :until::bigint GROUP BY 1, 2
