-- absolve: crashes that were counted because a lease ran out, of these claims, whose workers live, are crashes no more.
UPDATE tenure.attempts a SET error_kind = 'LeaseLost', message = :message::text, outcome = NULL
FROM json_to_recordset(:claims::text::json) AS c(id uuid, epoch bigint)
WHERE a.job_id = c.id AND a.epoch = c.epoch AND a.outcome = 'reclaim'
RETURNING a.job_id::text AS id
