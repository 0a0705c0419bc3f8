-- kin_before: the newest job of a flow, or of a parent, below an id, if there is one.
-- Differs from sqlite: looks into both tables.
SELECT greatest(
    (SELECT j.id FROM tenure.jobs j
     WHERE j.flow = :flow::text AND j.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       AND j.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
     ORDER BY j.id DESC LIMIT 1),
    (SELECT f.id FROM tenure.finished f
     WHERE f.flow = :flow::text AND f.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       AND f.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
     ORDER BY f.id DESC LIMIT 1),
    (SELECT j.id FROM tenure.jobs j
     WHERE j.parent = :parent::uuid AND j.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       AND j.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
     ORDER BY j.id DESC LIMIT 1),
    (SELECT f.id FROM tenure.finished f
     WHERE f.parent = :parent::uuid AND f.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       AND f.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
     ORDER BY f.id DESC LIMIT 1))::text AS id
