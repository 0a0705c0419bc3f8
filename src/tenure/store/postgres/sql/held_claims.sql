-- held_claims: which of these claims still stand, whoever has their rows locked.
SELECT j.id::text AS id, j.cancel_at IS NOT NULL AS cancelling, j.epoch
FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint)
CROSS JOIN LATERAL (
    SELECT * FROM tenure.jobs k WHERE k.id = c.id AND k.epoch = c.epoch AND k.state = 'running' OFFSET 0) j
