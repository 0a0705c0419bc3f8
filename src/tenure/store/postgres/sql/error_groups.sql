-- error_groups: the most frequent failures since an hour, summed up, and hour by hour from another hour on, or of their last hour.
-- Differs from sqlite: LATERAL and OFFSET keep the planner to the index, group by group.
SELECT t.fingerprint, g.hour, g.count, g.kind, g.error_kind, g.message, g.sample_id, g.last_seen, g.frame, t.count, t.dead,
       (SELECT f.first_seen FROM tenure.error_groups f WHERE f.fingerprint = t.fingerprint ORDER BY f.hour LIMIT 1) AS first_seen
FROM (
    SELECT e.fingerprint, sum(e.count)::bigint AS count, sum(e.dead)::bigint AS dead, max(e.hour) AS hour FROM tenure.error_groups e
    WHERE e.hour >= :since::bigint AND (:fingerprint::text IS NULL OR e.fingerprint = :fingerprint::text)
    GROUP BY e.fingerprint ORDER BY sum(e.count) DESC, e.fingerprint LIMIT :limit::integer
) t CROSS JOIN LATERAL (
    SELECT h.hour, h.count, h.kind, h.error_kind, h.message, h.sample_id, h.last_seen, h.frame FROM tenure.error_groups h
    WHERE h.fingerprint = t.fingerprint AND h.hour >= least(t.hour, :hours::bigint) OFFSET 0
) g
ORDER BY g.hour
