-- set_rollups: puts merged figures down, in the place of any.
INSERT INTO tenure.rollups (span, minute, source, queue, kind, done, failed, dead, cancelled, waited, ran)
SELECT span, minute, '', queue, kind, done, failed, dead, cancelled, waited, ran
FROM json_to_recordset(:rows::text::json) AS r(
    span integer, minute bigint, queue text, kind text, done bigint, failed bigint, dead bigint, cancelled bigint,
    waited text, ran text)
ON CONFLICT (span, minute, source, queue, kind) DO UPDATE SET
    done = excluded.done, failed = excluded.failed, dead = excluded.dead, cancelled = excluded.cancelled,
    waited = excluded.waited, ran = excluded.ran
