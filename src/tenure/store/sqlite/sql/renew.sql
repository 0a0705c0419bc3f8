-- renew: pushes the leases of held claims forward; rows somebody has locked are passed over.
-- Differs from postgres: there are no row locks to pass over.
UPDATE tenure_jobs SET lease_until = :now + :lease
FROM json_each(:claims) c
WHERE tenure_jobs.seq = json_extract(c.value, '$.seq') AND tenure_jobs.id = json_extract(c.value, '$.id') AND tenure_jobs.epoch = json_extract(c.value, '$.epoch')
  AND tenure_jobs.state = 'running'
RETURNING tenure_jobs.id AS id, tenure_jobs.cancel_at IS NOT NULL AS cancelling
