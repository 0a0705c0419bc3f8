-- error_groups: the most frequent failures since an hour, hour by hour.
SELECT g.fingerprint, g.hour, g.count, g.dead, g.kind, g.error_kind, g.message, g.sample_id, g.first_seen, g.last_seen, g.frame
FROM tenure.error_groups g
WHERE g.hour >= :since::bigint AND g.fingerprint IN (
    SELECT e.fingerprint FROM tenure.error_groups e
    WHERE e.hour >= :since::bigint AND (:fingerprint::text IS NULL OR e.fingerprint = :fingerprint::text)
    GROUP BY e.fingerprint ORDER BY sum(e.count) DESC, e.fingerprint LIMIT :limit::integer)
ORDER BY g.hour
