-- find: which jobs match, oldest first, between two ids; their payloads where these decide.
-- Differs from sqlite: both tables, each in the order of its primary key, are merged.
SELECT a.id::text AS id, a.state, CASE WHEN :needles::text IS NOT NULL THEN a.payload END AS payload
FROM (
    SELECT j.id, j.kind, j.queue, j.rank, j.payload, j.attempt, j.created_at, NULL::bigint AS finished_at, j.group_key, j.parent,
           j.flow, j.tenant, j.extra, j.error, j.state, j.run_at, j.lease_until
    FROM tenure.jobs j
    UNION ALL
    SELECT f.id, f.kind, f.queue, f.rank, f.payload, f.attempt, f.created_at, f.finished_at, f.group_key, f.parent,
           f.flow, f.tenant, f.extra, f.error, f.state, f.run_at, NULL::bigint
    FROM tenure.finished f
) a
WHERE a.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
  AND a.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
  AND (:states::text IS NULL OR a.state IN (SELECT json_array_elements_text(:states::text::json)))
  AND (:ids::text IS NULL OR a.id IN (SELECT i::uuid FROM json_array_elements_text(:ids::text::json) i))
  AND (:kinds::text IS NULL OR a.kind IN (SELECT json_array_elements_text(:kinds::text::json))
       OR EXISTS (SELECT 1 FROM json_to_recordset(:kind_patterns::text::json) AS p(liked text) WHERE a.kind LIKE p.liked))
  AND (:except_kinds::text IS NULL OR NOT (a.kind IN (SELECT json_array_elements_text(:except_kinds::text::json))
       OR EXISTS (SELECT 1 FROM json_to_recordset(:except_kind_patterns::text::json) AS p(liked text) WHERE a.kind LIKE p.liked)))
  AND (:queues::text IS NULL OR a.queue IN (SELECT json_array_elements_text(:queues::text::json))
       OR EXISTS (SELECT 1 FROM json_to_recordset(:queue_patterns::text::json) AS p(liked text) WHERE a.queue LIKE p.liked))
  AND (:except_queues::text IS NULL OR NOT (a.queue IN (SELECT json_array_elements_text(:except_queues::text::json))
       OR EXISTS (SELECT 1 FROM json_to_recordset(:except_queue_patterns::text::json) AS p(liked text) WHERE a.queue LIKE p.liked)))
  AND (:tags::text IS NULL
       OR jsonb_exists_all((a.extra::jsonb)->'tags', ARRAY(SELECT json_array_elements_text(:tags::text::json))))
  AND (:except_tags::text IS NULL OR NOT coalesce(
       jsonb_exists_any((a.extra::jsonb)->'tags', ARRAY(SELECT json_array_elements_text(:except_tags::text::json))), false))
  AND (:group_key::text IS NULL OR a.group_key = :group_key::text)
  AND (:tenant::text IS NULL OR a.tenant = :tenant::text)
  AND (:flow::text IS NULL OR a.flow = :flow::text)
  AND (:parent::text IS NULL OR a.parent = :parent::text::uuid)
  AND (:attempt_from::integer IS NULL OR a.attempt >= :attempt_from::integer)
  AND (:attempt_to::integer IS NULL OR a.attempt <= :attempt_to::integer)
  AND (:rank_from::integer IS NULL OR a.rank >= :rank_from::integer)
  AND (:rank_to::integer IS NULL OR a.rank <= :rank_to::integer)
  AND (:older::bigint IS NULL OR coalesce(a.finished_at, a.created_at) <= (SELECT tenure.micros(:now::bigint)) - :older::bigint)
  AND (:newer::bigint IS NULL OR coalesce(a.finished_at, a.created_at) > (SELECT tenure.micros(:now::bigint)) - :newer::bigint)
  AND (:overdue::bigint IS NULL OR a.lease_until <= (SELECT tenure.micros(:now::bigint)) - :overdue::bigint
       OR (a.state = 'scheduled' AND a.run_at <= (SELECT tenure.micros(:now::bigint)) - :overdue::bigint))
  AND (:errors::text IS NULL OR (a.error IS NOT NULL AND EXISTS (
       SELECT 1 FROM json_to_recordset(:errors::text::json) AS p(liked text)
       WHERE a.error LIKE p.liked
          OR (SELECT t.error_kind || ': ' || a.error FROM tenure.attempts t WHERE t.job_id = a.id ORDER BY t.epoch DESC LIMIT 1)
             LIKE p.liked)))
  AND (:except_errors::text IS NULL OR a.error IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_to_recordset(:except_errors::text::json) AS p(liked text)
       WHERE a.error LIKE p.liked
          OR (SELECT t.error_kind || ': ' || a.error FROM tenure.attempts t WHERE t.job_id = a.id ORDER BY t.epoch DESC LIMIT 1)
             LIKE p.liked))
  AND (:fingerprint::text IS NULL OR :fingerprint::text = (
       SELECT t.fingerprint FROM tenure.attempts t WHERE t.job_id = a.id ORDER BY t.epoch DESC LIMIT 1))
  AND (:needles::text IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_array_elements_text(:needles::text::json) AS n(word) WHERE strpos(a.payload, n.word) = 0))
ORDER BY a.id LIMIT :limit::integer
