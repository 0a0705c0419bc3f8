-- dead_after: the oldest dead job above an id, if there is one.
SELECT (SELECT f.id FROM tenure.finished f
        WHERE f.state = 'dead' AND f.id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000'::uuid)
          AND f.id <= coalesce(:high::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
        ORDER BY f.id LIMIT 1)::text AS id
