-- renew: pushes the leases of held claims forward, and knows those that have started; rows somebody has locked are passed over.
-- Differs from postgres: there are no row locks to pass over.
UPDATE tenure_jobs SET lease_until = :now + :lease,
    doubt = CASE WHEN tenure_jobs.id IN (SELECT value FROM json_each(:started)) THEN NULL ELSE tenure_jobs.doubt END
FROM json_each(:claims) c
WHERE tenure_jobs.seq = json_extract(c.value, '$.seq') AND tenure_jobs.id = json_extract(c.value, '$.id') AND tenure_jobs.epoch = json_extract(c.value, '$.epoch')
  AND tenure_jobs.state = 'running'
RETURNING tenure_jobs.id AS id, tenure_jobs.cancel_at IS NOT NULL AS cancelling
