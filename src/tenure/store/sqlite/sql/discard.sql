-- discard: dead jobs end as cancelled, now, so that retention takes them; what they died of stays in the reason.
UPDATE tenure_jobs
SET state = 'cancelled', finished_at = :now, reason = 'discarded' || coalesce(': ' || reason, ''),
    was = json_object('state', state, 'finished_at', finished_at, 'reason', reason)
WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND state = 'dead'
RETURNING id
