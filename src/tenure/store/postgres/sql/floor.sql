-- floor: the id so many jobs down from another, if there are so many.
-- Differs from sqlite: counts in either table, and the nearer of the two ids is meant.
SELECT greatest(
    (SELECT j.id FROM tenure.jobs j
     WHERE j.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       AND j.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
     ORDER BY j.id DESC LIMIT 1 OFFSET :reach::bigint),
    (SELECT f.id FROM tenure.finished f
     WHERE f.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       AND f.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
     ORDER BY f.id DESC LIMIT 1 OFFSET :reach::bigint))::text AS id
