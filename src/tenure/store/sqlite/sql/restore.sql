-- restore: jobs that were discarded are dead again, as they were.
UPDATE tenure_jobs SET state = 'dead', reason = nullif(substr(reason, 12), '')
WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(:ids)) AND state = 'cancelled'
  AND (reason = 'discarded' OR substr(reason, 1, 11) = 'discarded: ')
