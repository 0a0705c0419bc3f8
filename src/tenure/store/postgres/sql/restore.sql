-- restore: jobs that were discarded are dead again, as they were.
UPDATE tenure.finished
SET state = was::json ->> 'state', finished_at = (was::json ->> 'finished_at')::bigint, reason = was::json ->> 'reason', was = NULL
WHERE id = ANY (ARRAY(SELECT r.id FROM json_to_recordset(:ids::text::json) AS r(id uuid))) AND state = 'cancelled'
  AND was IS NOT NULL
