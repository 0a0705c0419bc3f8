-- crashes_close: the crashes of these jobs belong to a life that is over, and are absolved no more.
UPDATE tenure_attempts SET outcome = NULL
WHERE outcome = 'reclaim' AND job_id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids))
