-- crashes_close: the crashes of these jobs belong to a life that is over, and are absolved no more.
UPDATE tenure.attempts SET outcome = NULL
WHERE outcome = 'reclaim' AND job_id IN (SELECT id FROM json_to_recordset(:ids::text::json) AS r(id uuid))
