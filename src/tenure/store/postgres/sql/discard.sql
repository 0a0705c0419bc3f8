-- discard: dead jobs end as cancelled, now, so that retention takes them; what they died of stays in the reason.
UPDATE tenure.finished
SET state = 'cancelled', finished_at = tenure.micros(:now::bigint), reason = 'discarded' || coalesce(': ' || reason, ''),
    was = json_build_object('state', state, 'finished_at', finished_at, 'reason', reason)::text
WHERE id = ANY (ARRAY(SELECT r.id FROM json_to_recordset(:ids::text::json) AS r(id uuid))) AND state = 'dead'
RETURNING id::text AS id
