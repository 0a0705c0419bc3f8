-- get: one job, wherever it is.
SELECT j.id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, j.finished_at, j.outcome, j.reason, j.result, j.progress,
       j.progress_note, j.cancel_at
FROM tenure_jobs j WHERE j.id = :id
