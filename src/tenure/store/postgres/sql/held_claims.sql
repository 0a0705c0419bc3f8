-- held_claims: which of these claims still stand, whoever has their rows locked.
SELECT j.id::text AS id, j.cancel_at IS NOT NULL AS cancelling
FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint)
JOIN tenure.jobs j ON j.id = c.id AND j.epoch = c.epoch AND j.state = 'running'
