-- floor: the id so many jobs down from another, if there are so many.
SELECT (SELECT j.id FROM tenure_jobs j WHERE j.id < coalesce(:before, 'g') AND j.id >= coalesce(:low, '')
        ORDER BY j.id DESC LIMIT 1 OFFSET :reach) AS id
