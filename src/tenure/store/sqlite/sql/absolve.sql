-- absolve: crashes that were counted because a lease ran out, of these claims, whose workers live, are crashes no more.
UPDATE tenure_attempts SET error_kind = 'LeaseLost', message = :message, outcome = NULL
WHERE outcome = 'reclaim' AND (job_id, epoch) IN (
    SELECT json_extract(value, '$.id'), json_extract(value, '$.epoch') FROM json_each(:claims))
RETURNING job_id AS id
