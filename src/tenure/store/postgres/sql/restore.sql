-- restore: jobs that were discarded are dead again, as they were.
UPDATE tenure.finished SET state = 'dead', reason = nullif(substr(reason, 12), '')
WHERE id = ANY (ARRAY(SELECT r.id FROM json_to_recordset(:ids::text::json) AS r(id uuid))) AND state = 'cancelled'
  AND (reason = 'discarded' OR substr(reason, 1, 11) = 'discarded: ')
