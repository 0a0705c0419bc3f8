-- dead_before: the newest dead job below an id, if there is one.
SELECT (SELECT f.id FROM tenure.finished f
        WHERE f.state = 'dead' AND f.id < coalesce(:before::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
          AND f.id >= coalesce(:low::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
        ORDER BY f.id DESC LIMIT 1)::text AS id
