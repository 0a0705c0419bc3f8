-- error_groups: the most frequent failures since an hour, summed up, and hour by hour from another hour on, or of their last hour.
-- Differs from postgres: a plus keeps to the hours, not to the index that has the groups in their order.
SELECT g.fingerprint, g.hour, g.count, g.kind, g.error_kind, g.message, g.sample_id, g.last_seen, g.frame, t.count, t.dead,
       (SELECT f.first_seen FROM tenure_error_groups f WHERE f.fingerprint = t.fingerprint ORDER BY f.hour LIMIT 1) AS first_seen
FROM (
    SELECT e.fingerprint, sum(e.count) AS count, sum(e.dead) AS dead, max(e.hour) AS hour FROM tenure_error_groups e
    WHERE e.hour >= :since AND (:fingerprint IS NULL OR e.fingerprint = :fingerprint)
    GROUP BY +e.fingerprint ORDER BY sum(e.count) DESC, e.fingerprint LIMIT :limit
) t JOIN tenure_error_groups g ON g.fingerprint = t.fingerprint AND g.hour >= min(t.hour, :hours)
ORDER BY g.hour
