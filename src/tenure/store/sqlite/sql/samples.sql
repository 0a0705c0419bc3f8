-- samples: how the queues stood, by step: the most that was put down in each.
SELECT minute / :step * :step AS minute, queue, max(ready) AS ready, max(running) AS running, max(oldest) AS oldest,
       max(busy) AS busy, max(slots) AS slots
FROM tenure_samples WHERE minute >= :since AND minute < :until GROUP BY 1, 2
