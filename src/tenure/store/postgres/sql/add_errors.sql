-- add_errors: adds failures alike to this hour.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
INSERT INTO tenure.error_groups AS t (
    hour, fingerprint, count, dead, kind, error_kind, message, sample_id, first_seen, last_seen, frame)
SELECT n.now / 3600000000, r.fingerprint, r.count, r.dead, r.kind, r.error_kind, r.message, r.sample_id, n.now, n.now, r.frame
FROM n, json_to_recordset(:rows::text::json) AS r(
    fingerprint text, count bigint, dead bigint, kind text, error_kind text, message text, sample_id text, frame text)
ON CONFLICT (hour, fingerprint) DO UPDATE SET
    count = t.count + excluded.count, dead = t.dead + excluded.dead,
    message = excluded.message, sample_id = excluded.sample_id, last_seen = excluded.last_seen,
    frame = excluded.frame
