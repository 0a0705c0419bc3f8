-- held_claims: which of these claims still stand, whoever has their rows locked.
SELECT j.id, j.cancel_at IS NOT NULL AS cancelling, j.epoch
FROM json_each(:claims) c
CROSS JOIN tenure_jobs j ON j.seq = json_extract(c.value, '$.seq') AND j.id = json_extract(c.value, '$.id') AND j.epoch = json_extract(c.value, '$.epoch') AND j.state = 'running'
