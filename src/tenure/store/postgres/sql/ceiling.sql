-- ceiling: the id so many jobs up from another, if there are so many.
-- Differs from sqlite: counts in either table, and the nearer of the two ids is meant.
SELECT least(
    (SELECT j.id FROM tenure.jobs j
     WHERE j.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
       AND j.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
     ORDER BY j.id LIMIT 1 OFFSET :reach::bigint),
    (SELECT f.id FROM tenure.finished f
     WHERE f.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
       AND f.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
     ORDER BY f.id LIMIT 1 OFFSET :reach::bigint))::text AS id
