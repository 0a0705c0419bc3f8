-- dead_after: the oldest dead job above an id, if there is one.
SELECT (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_dead
        WHERE j.state = 'dead' AND j.id > coalesce(:after, '') AND j.id <= coalesce(:high, 'g')
        ORDER BY j.id LIMIT 1) AS id
