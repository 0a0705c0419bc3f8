-- find: the ids of finished jobs that match, oldest first, after the one the last look ended with.
SELECT j.id, j.state
FROM tenure_jobs j
WHERE j.finished_at IS NOT NULL AND j.id > coalesce(:after, '')
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
ORDER BY j.id LIMIT :limit
