-- add_errors: adds failures alike to this hour.
INSERT INTO tenure_error_groups (hour, fingerprint, count, dead, kind, error_kind, message, sample_id, first_seen, last_seen, frame)
SELECT :now / 3600000000, json_extract(value, '$.fingerprint'), json_extract(value, '$.count'), json_extract(value, '$.dead'),
       json_extract(value, '$.kind'), json_extract(value, '$.error_kind'), json_extract(value, '$.message'),
       json_extract(value, '$.sample_id'), :now, :now, json_extract(value, '$.frame')
FROM json_each(:rows) WHERE true
ON CONFLICT (hour, fingerprint) DO UPDATE SET
    count = tenure_error_groups.count + excluded.count, dead = tenure_error_groups.dead + excluded.dead,
    message = excluded.message, sample_id = excluded.sample_id, last_seen = excluded.last_seen,
    frame = excluded.frame
