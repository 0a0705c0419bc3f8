-- retain: deletes jobs of one state that finished long ago, with all that belongs to them.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now),
old AS MATERIALIZED (
    SELECT f.id FROM tenure.finished f, n
    WHERE f.finished_at <= n.now - :age::bigint AND f.state = :state::text
      AND (:queue::text IS NULL OR f.queue = :queue::text)
      AND f.queue NOT IN (SELECT json_array_elements_text(:except_queues::text::json))
    LIMIT :limit::integer FOR UPDATE OF f SKIP LOCKED
), a AS (
    DELETE FROM tenure.attempts WHERE job_id IN (SELECT id FROM old)
), r AS (
    DELETE FROM tenure.requests WHERE job_id IN (SELECT id FROM old)
)
DELETE FROM tenure.finished WHERE id IN (SELECT id FROM old)
