-- renew: pushes the leases of held claims forward, and knows those that have started; rows somebody has locked are passed over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
c AS MATERIALIZED (SELECT * FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint))
UPDATE tenure.jobs j SET lease_until = n.now + :lease::bigint,
    doubt = CASE WHEN j.id::text IN (SELECT json_array_elements_text(:started::text::json)) THEN NULL ELSE j.doubt END
FROM n
WHERE j.id = ANY (ARRAY(
    SELECT k.id FROM c CROSS JOIN LATERAL (
        SELECT k.id FROM tenure.jobs k WHERE k.id = c.id AND k.epoch = c.epoch AND k.state = 'running'
        FOR UPDATE SKIP LOCKED) k))
RETURNING j.id::text AS id, j.cancel_at IS NOT NULL AS cancelling
