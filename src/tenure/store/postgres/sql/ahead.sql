-- ahead: how many ready jobs of its queue stand in front of a job, up to :limit.
SELECT count(*) AS ahead FROM (
    SELECT FROM tenure.jobs j, tenure.jobs me
    WHERE me.id = :id::uuid AND j.state = 'ready' AND j.queue = me.queue AND (j.rank, j.run_at, j.seq) < (me.rank, me.run_at, me.seq)
    LIMIT :limit::integer) a
