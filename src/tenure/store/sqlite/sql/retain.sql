-- retain: deletes jobs of one state that finished long ago, with all that belongs to them.
-- Differs from postgres: no index on finished_at; the oldest rows come first by seq, and a job cannot have finished
-- before it was created, so the walk stops at the first job that is too young; one stored while the clock was ahead tells
-- nothing. A trigger takes what belongs to them.
DELETE FROM tenure_jobs
WHERE seq IN (
    SELECT j.seq FROM tenure_jobs j
    WHERE j.seq < coalesce(
            (SELECT y.seq FROM tenure_jobs y WHERE y.created_at > :now - :age AND y.created_at <= :now ORDER BY y.seq LIMIT 1), 9223372036854775807)
      AND j.finished_at <= :now - :age AND j.state = :state AND (:queue IS NULL OR j.queue = :queue)
      AND j.queue NOT IN (SELECT value FROM json_each(:except_queues))
    ORDER BY j.seq LIMIT :limit)
