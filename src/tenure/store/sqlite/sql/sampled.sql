-- sampled: whether somebody has put down how the queues stand in this minute.
SELECT EXISTS (SELECT 1 FROM tenure_samples WHERE minute = :now / 60000000) AS sampled
