-- kin_before: the newest job of a flow, or of a parent, below an id, if there is one.
SELECT coalesce(
    (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_flow
     WHERE j.flow = :flow AND j.id < coalesce(:before, 'g') AND j.id >= coalesce(:low, '')
     ORDER BY j.id DESC LIMIT 1),
    (SELECT j.id FROM tenure_jobs j INDEXED BY tenure_jobs_parent
     WHERE j.parent = :parent AND j.id < coalesce(:before, 'g') AND j.id >= coalesce(:low, '')
     ORDER BY j.id DESC LIMIT 1)) AS id
