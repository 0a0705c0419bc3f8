-- unclaimed: locks those of these jobs that nobody has claimed and that have not finished; locked rows are passed over.
-- Differs from postgres: the transaction is the lock.
SELECT j.id, j.seq, j.epoch, j.group_key, :now AS now
FROM json_each(:ids) r CROSS JOIN tenure_jobs j ON j.id = json_extract(r.value, '$.id')
WHERE j.finished_at IS NULL AND j.state <> 'running'
