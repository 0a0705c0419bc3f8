-- ahead: how many ready jobs of its queue stand in front of a job, up to :limit.
SELECT count(*) AS ahead FROM (
    SELECT 1 FROM tenure_jobs me
    CROSS JOIN tenure_jobs j ON j.state = 'ready' AND j.queue = me.queue AND (j.rank, j.run_at, j.seq) < (me.rank, me.run_at, me.seq)
    WHERE me.id = :id LIMIT :limit)
