-- pardon: lowers the crashes of jobs that are not finished.
UPDATE tenure_jobs SET crashes = max(crashes - json_extract(r.value, '$.less'), 0)
FROM json_each(:rows) r
WHERE tenure_jobs.id = json_extract(r.value, '$.id') AND tenure_jobs.finished_at IS NULL
RETURNING tenure_jobs.id AS id
