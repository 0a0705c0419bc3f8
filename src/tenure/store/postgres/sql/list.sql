-- list: jobs that match, newest first, after the one the last page ended with.
(SELECT j.id::text AS id, j.seq, j.epoch, j.kind, j.queue, j.rank, j.payload, j.attempt, j.max_attempts, j.crashes, j.run_at,
       j.created_at, j.lease_until, j.started_at, j.expires_at, j.group_key, j.parent::text AS parent, j.flow, j.tenant,
       j.extra, j.error, j.group_limit, j.doubt, j.state, j.worker, NULL::bigint AS finished_at, j.outcome, j.reason, NULL AS result, j.progress,
       j.progress_note, j.cancel_at
    FROM tenure.jobs j
    WHERE j.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      AND (:states::text IS NULL OR j.state IN (SELECT json_array_elements_text(:states::text::json)))
      AND (:kinds::text IS NULL OR j.kind IN (SELECT json_array_elements_text(:kinds::text::json)))
      AND (:queues::text IS NULL OR j.queue IN (SELECT json_array_elements_text(:queues::text::json)))
      AND (:ids::text IS NULL OR j.id::text IN (SELECT json_array_elements_text(:ids::text::json)))
      AND (:tag::text IS NULL OR jsonb_exists((j.extra::jsonb)->'tags', :tag::text))
      AND (:group_key::text IS NULL OR j.group_key = :group_key::text)
      AND (:tenant::text IS NULL OR j.tenant = :tenant::text)
      AND (:flow::text IS NULL OR j.flow = :flow::text)
      AND (:parent::text IS NULL OR j.parent::text = :parent::text)
      AND (:error::text IS NULL OR strpos(j.error, :error::text) > 0)
      AND (:older::bigint IS NULL OR j.created_at <= tenure.micros(:now::bigint) - :older::bigint)
      AND (:newer::bigint IS NULL OR j.created_at > tenure.micros(:now::bigint) - :newer::bigint)
    ORDER BY j.id DESC LIMIT :limit::integer)
UNION ALL
(SELECT f.id::text, f.seq, f.epoch, f.kind, f.queue, f.rank, f.payload, f.attempt, f.max_attempts, f.crashes, f.run_at,
       f.created_at, NULL::bigint, f.started_at, f.expires_at, f.group_key, f.parent::text, f.flow, f.tenant,
       f.extra, f.error, f.group_limit, NULL::smallint, f.state, f.worker, f.finished_at, f.outcome, f.reason, f.result, f.progress,
       f.progress_note, f.cancel_at
    FROM tenure.finished f
    WHERE f.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
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
    ORDER BY f.id DESC LIMIT :limit::integer)
ORDER BY id DESC LIMIT :limit::integer
