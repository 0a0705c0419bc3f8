-- pardon_finished: lowers the crashes of finished jobs, and tells which of them would not have died of what is left.
UPDATE tenure_jobs SET crashes = max(crashes - json_extract(r.value, '$.less'), 0)
FROM json_each(:rows) r
WHERE tenure_jobs.id = json_extract(r.value, '$.id') AND tenure_jobs.finished_at IS NOT NULL
RETURNING tenure_jobs.id AS id,
          tenure_jobs.state = 'dead' AND tenure_jobs.reason = 'poison' AND tenure_jobs.crashes < :max_crashes AS unjust
