-- list: jobs that match, newest first, after the one the last page ended with.
SELECT j.id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, j.finished_at, j.outcome, j.reason, j.result, j.progress,
       j.progress_note, j.cancel_at
FROM tenure_jobs j
WHERE j.id < coalesce(:before, 'g')
  AND (:states IS NULL OR j.state IN (SELECT value FROM json_each(:states)))
  AND (:kinds IS NULL OR j.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:queues IS NULL OR j.queue IN (SELECT value FROM json_each(:queues)))
  AND (:ids IS NULL OR j.id IN (SELECT value FROM json_each(:ids)))
  AND (:tag IS NULL OR :tag IN (SELECT value FROM json_each(j.extra, '$.tags')))
  AND (:group_key IS NULL OR j.group_key = :group_key)
  AND (:tenant IS NULL OR j.tenant = :tenant)
  AND (:flow IS NULL OR j.flow = :flow)
  AND (:parent IS NULL OR j.parent = :parent)
  AND (:error IS NULL OR instr(j.error, :error) > 0)
  AND (:older IS NULL OR coalesce(j.finished_at, j.created_at) <= :now - :older)
  AND (:newer IS NULL OR coalesce(j.finished_at, j.created_at) > :now - :newer)
ORDER BY j.id DESC LIMIT :limit
