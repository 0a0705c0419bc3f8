-- named: the queue and kind of these jobs.
SELECT j.id, j.queue, j.kind FROM json_each(:ids) r CROSS JOIN tenure_jobs j ON j.id = json_extract(r.value, '$.id')
