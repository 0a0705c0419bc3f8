-- dead_before: the newest dead job below an id, if there is one.
SELECT (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_dead
        WHERE j.state = 'dead' AND j.id < coalesce(:before, 'g') AND j.id >= coalesce(:low, '')
        ORDER BY j.id DESC LIMIT 1) AS id
