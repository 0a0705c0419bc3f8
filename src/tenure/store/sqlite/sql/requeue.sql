-- requeue: gives locked jobs back to the line.
UPDATE tenure_jobs
SET state = json_extract(r.value, '$.state'), epoch = json_extract(r.value, '$.epoch'),
    settled_epoch = coalesce(json_extract(r.value, '$.settled_epoch'), settled_epoch),
    trace = CASE WHEN json_extract(r.value, '$.trace') IS NULL THEN trace
            ELSE substr(coalesce(trace, ',') || json_extract(r.value, '$.trace'), -200) END,
    outcome = coalesce(json_extract(r.value, '$.outcome'), outcome), attempt = json_extract(r.value, '$.attempt'),
    crashes = json_extract(r.value, '$.crashes'), run_at = json_extract(r.value, '$.run_at'),
    error = coalesce(json_extract(r.value, '$.error'), error), held = json_extract(r.value, '$.held'),
    started_at = json_extract(r.value, '$.started_at'), doubt = json_extract(r.value, '$.doubt'), lease_until = NULL, worker = NULL
FROM json_each(:rows) r
WHERE tenure_jobs.seq = json_extract(r.value, '$.seq')
