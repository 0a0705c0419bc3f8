-- kin_after: the oldest job of a flow, or of a parent, above an id, if there is one.
-- Differs from sqlite: looks into both tables.
SELECT least(
    (SELECT j.id FROM tenure.jobs j
     WHERE j.flow = :flow::text AND j.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
       AND j.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
     ORDER BY j.id LIMIT 1),
    (SELECT f.id FROM tenure.finished f
     WHERE f.flow = :flow::text AND f.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
       AND f.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
     ORDER BY f.id LIMIT 1),
    (SELECT j.id FROM tenure.jobs j
     WHERE j.parent = :parent::uuid AND j.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
       AND j.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
     ORDER BY j.id LIMIT 1),
    (SELECT f.id FROM tenure.finished f
     WHERE f.parent = :parent::uuid AND f.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
       AND f.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
     ORDER BY f.id LIMIT 1))::text AS id
