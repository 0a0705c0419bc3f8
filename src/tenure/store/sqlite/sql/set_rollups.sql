-- set_rollups: puts merged figures down, in the place of any.
INSERT INTO tenure_rollups (span, minute, source, queue, kind, done, failed, dead, cancelled, waited, ran)
SELECT json_extract(value, '$.span'), json_extract(value, '$.minute'), '', json_extract(value, '$.queue'),
       json_extract(value, '$.kind'), json_extract(value, '$.done'), json_extract(value, '$.failed'),
       json_extract(value, '$.dead'), json_extract(value, '$.cancelled'), json_extract(value, '$.waited'), json_extract(value, '$.ran')
FROM json_each(:rows) WHERE true
ON CONFLICT (span, minute, source, queue, kind) DO UPDATE SET
    done = excluded.done, failed = excluded.failed, dead = excluded.dead, cancelled = excluded.cancelled,
    waited = excluded.waited, ran = excluded.ran
