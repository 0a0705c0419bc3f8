-- unclaimed: locks those of these jobs that nobody has claimed and that have not finished; locked rows are passed over.
SELECT j.id::text AS id, j.seq, j.epoch, j.group_key, tenure.micros(:now::bigint) AS now
FROM tenure.jobs j
WHERE j.id = ANY (ARRAY(SELECT id FROM json_to_recordset(:ids::text::json) AS r(id uuid))) AND j.state <> 'running'
FOR UPDATE OF j SKIP LOCKED
