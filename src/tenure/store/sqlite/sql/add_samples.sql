-- add_samples: puts down how the queues stand in this minute; what somebody has put down stays.
INSERT INTO tenure_samples (minute, queue, ready, running, oldest, busy, slots)
SELECT :now / 60000000, json_extract(value, '$.queue'), json_extract(value, '$.ready'), json_extract(value, '$.running'),
       json_extract(value, '$.oldest'), json_extract(value, '$.busy'), json_extract(value, '$.slots')
FROM json_each(:rows) WHERE true
ON CONFLICT (minute, queue) DO NOTHING
