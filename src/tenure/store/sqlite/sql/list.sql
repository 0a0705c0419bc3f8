-- list: jobs that match, newest first, between two ids.
SELECT j.id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, j.finished_at, j.outcome, j.reason, j.result, j.progress,
       j.progress_note, j.cancel_at
FROM tenure_jobs j
WHERE j.id < coalesce(:before, 'g') AND j.id >= coalesce(:low, '')
  AND (:states IS NULL OR j.state IN (SELECT value FROM json_each(:states)))
  AND (:ids IS NULL OR j.id IN (SELECT value FROM json_each(:ids)))
  AND (:kinds IS NULL OR j.kind IN (SELECT value FROM json_each(:kinds))
       OR EXISTS (SELECT 1 FROM json_each(:kind_patterns) p WHERE j.kind GLOB json_extract(p.value, '$.glob')))
  AND (:except_kinds IS NULL OR NOT (j.kind IN (SELECT value FROM json_each(:except_kinds))
       OR EXISTS (SELECT 1 FROM json_each(:except_kind_patterns) p WHERE j.kind GLOB json_extract(p.value, '$.glob'))))
  AND (:queues IS NULL OR j.queue IN (SELECT value FROM json_each(:queues))
       OR EXISTS (SELECT 1 FROM json_each(:queue_patterns) p WHERE j.queue GLOB json_extract(p.value, '$.glob')))
  AND (:except_queues IS NULL OR NOT (j.queue IN (SELECT value FROM json_each(:except_queues))
       OR EXISTS (SELECT 1 FROM json_each(:except_queue_patterns) p WHERE j.queue GLOB json_extract(p.value, '$.glob'))))
  AND (:tags IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(:tags) w WHERE w.value NOT IN (SELECT t.value FROM json_each(j.extra, '$.tags') t)))
  AND (:except_tags IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(:except_tags) w WHERE w.value IN (SELECT t.value FROM json_each(j.extra, '$.tags') t)))
  AND (:group_key IS NULL OR j.group_key = :group_key)
  AND (:tenant IS NULL OR j.tenant = :tenant)
  AND (:flow IS NULL OR j.flow = :flow)
  AND (:parent IS NULL OR j.parent = :parent)
  AND (:attempt_from IS NULL OR j.attempt >= :attempt_from) AND (:attempt_to IS NULL OR j.attempt <= :attempt_to)
  AND (:rank_from IS NULL OR j.rank >= :rank_from) AND (:rank_to IS NULL OR j.rank <= :rank_to)
  AND (:older IS NULL OR coalesce(j.finished_at, j.created_at) <= :now - :older)
  AND (:newer IS NULL OR coalesce(j.finished_at, j.created_at) > :now - :newer)
  AND (:overdue IS NULL OR j.lease_until <= :now - :overdue OR (j.state = 'scheduled' AND j.run_at <= :now - :overdue))
  AND (:errors IS NULL OR (j.error IS NOT NULL AND EXISTS (
       SELECT 1 FROM json_each(:errors) p
       WHERE j.error GLOB json_extract(p.value, '$.glob')
          OR (SELECT a.error_kind || ': ' || j.error FROM tenure_attempts a WHERE a.job_id = j.id ORDER BY a.epoch DESC LIMIT 1)
             GLOB json_extract(p.value, '$.glob'))))
  AND (:except_errors IS NULL OR j.error IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(:except_errors) p
       WHERE j.error GLOB json_extract(p.value, '$.glob')
          OR (SELECT a.error_kind || ': ' || j.error FROM tenure_attempts a WHERE a.job_id = j.id ORDER BY a.epoch DESC LIMIT 1)
             GLOB json_extract(p.value, '$.glob')))
  AND (:fingerprint IS NULL OR :fingerprint = (
       SELECT a.fingerprint FROM tenure_attempts a WHERE a.job_id = j.id ORDER BY a.epoch DESC LIMIT 1))
  AND (:needles IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(:needles) n WHERE instr(j.payload, n.value) = 0))
ORDER BY j.id DESC LIMIT :limit
