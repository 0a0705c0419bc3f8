-- find: the ids of finished jobs that match, oldest first, after the one the last look ended with.
SELECT f.id::text AS id, f.state
    FROM tenure.finished f
    WHERE f.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
      AND (:states::text IS NULL OR f.state IN (SELECT json_array_elements_text(:states::text::json)))
      AND (:kinds::text IS NULL OR f.kind IN (SELECT json_array_elements_text(:kinds::text::json)))
      AND (:queues::text IS NULL OR f.queue IN (SELECT json_array_elements_text(:queues::text::json)))
      AND (:ids::text IS NULL OR f.id::text IN (SELECT json_array_elements_text(:ids::text::json)))
      AND (:tag::text IS NULL OR jsonb_exists((f.extra::jsonb)->'tags', :tag::text))
      AND (:group_key::text IS NULL OR f.group_key = :group_key::text)
      AND (:tenant::text IS NULL OR f.tenant = :tenant::text)
      AND (:flow::text IS NULL OR f.flow = :flow::text)
      AND (:parent::text IS NULL OR f.parent::text = :parent::text)
      AND (:error::text IS NULL OR strpos(f.error, :error::text) > 0)
      AND (:older::bigint IS NULL OR f.finished_at <= tenure.micros(:now::bigint) - :older::bigint)
      AND (:newer::bigint IS NULL OR f.finished_at > tenure.micros(:now::bigint) - :newer::bigint)
    ORDER BY f.id LIMIT :limit::integer
