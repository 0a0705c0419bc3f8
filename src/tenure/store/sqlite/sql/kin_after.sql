-- kin_after: the oldest job of a flow, or of a parent, above an id, if there is one.
SELECT coalesce(
    (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_flow
     WHERE j.flow = :flow AND j.id > coalesce(:after, '') AND j.id <= coalesce(:high, 'g')
     ORDER BY j.id LIMIT 1),
    (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_parent
     WHERE j.parent = :parent AND j.id > coalesce(:after, '') AND j.id <= coalesce(:high, 'g')
     ORDER BY j.id LIMIT 1)) AS id
