-- get: one job, wherever it is.
SELECT j.id::text AS id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent::text AS parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, NULL::bigint AS finished_at, j.outcome, j.reason, NULL AS result, j.progress,
       j.progress_note, j.cancel_at
FROM tenure.jobs j WHERE j.id = :id::uuid
UNION ALL
SELECT f.id::text, f.seq, f.epoch, f.kind, f.queue, f.rank, f.payload, f.attempt, f.max_attempts, f.crashes, f.run_at,
       f.created_at, NULL::bigint, f.started_at, f.expires_at, f.group_key, f.parent::text, f.flow, f.tenant,
       f.extra, f.error, f.group_limit, NULL::smallint, f.state, f.worker, f.finished_at, f.outcome, f.reason, f.result, f.progress,
       f.progress_note, f.cancel_at
FROM tenure.finished f WHERE f.id = :id::uuid
