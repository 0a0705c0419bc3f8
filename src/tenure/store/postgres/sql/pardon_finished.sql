-- pardon_finished: lowers the crashes of finished jobs, and tells which of them would not have died of what is left.
UPDATE tenure.finished f SET crashes = greatest(f.crashes - r.less, 0)
FROM json_to_recordset(:rows::text::json) AS r(id uuid, less integer)
WHERE f.id = r.id
RETURNING f.id::text AS id, f.state = 'dead' AND f.reason = 'poison' AND f.crashes < :max_crashes::integer AS unjust
