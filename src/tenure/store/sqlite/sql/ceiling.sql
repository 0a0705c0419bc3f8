-- ceiling: the id so many jobs up from another, if there are so many.
SELECT (SELECT j.id FROM tenure_jobs j WHERE j.id > coalesce(:after, '') AND j.id <= coalesce(:high, 'g')
        ORDER BY j.id LIMIT 1 OFFSET :reach) AS id
