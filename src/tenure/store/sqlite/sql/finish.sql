-- finish: moves locked jobs to the history with their last state.
-- Differs from postgres: the history is the same table.
UPDATE tenure_jobs
SET state = json_extract(r.value, '$.state'), epoch = coalesce(json_extract(r.value, '$.epoch'), epoch),
    settled_epoch = coalesce(json_extract(r.value, '$.settled_epoch'), settled_epoch),
    finished_at = json_extract(r.value, '$.finished_at'), attempt = coalesce(json_extract(r.value, '$.attempt'), attempt),
    crashes = coalesce(json_extract(r.value, '$.crashes'), crashes), outcome = json_extract(r.value, '$.outcome'),
    reason = CASE json_extract(r.value, '$.state') WHEN 'done' THEN NULL
             WHEN 'cancelled' THEN coalesce(json_extract(r.value, '$.reason'), reason, 'cancelled')
             ELSE json_extract(r.value, '$.reason') END,
    result = json_extract(r.value, '$.result'),
    error = CASE WHEN json_extract(r.value, '$.state') = 'done' THEN NULL
                 ELSE coalesce(json_extract(r.value, '$.error'), error) END,
    lease_until = NULL, held = NULL, doubt = NULL, was = NULL
FROM json_each(:rows) r
WHERE tenure_jobs.seq = json_extract(r.value, '$.seq')
