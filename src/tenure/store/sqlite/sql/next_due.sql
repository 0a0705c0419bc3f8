-- next_due: microseconds until the earliest scheduled job is due or the earliest lease runs out; NULL if there is neither.
-- Differs from postgres: min() of two is NULL as soon as one is.
SELECT min(coalesce(run_at, lease_until), coalesce(lease_until, run_at)) - :now AS due_in
FROM (SELECT (SELECT run_at FROM tenure_jobs INDEXED BY tenure_jobs_scheduled WHERE state = 'scheduled' ORDER BY run_at LIMIT 1) AS run_at,
             (SELECT lease_until FROM tenure_jobs WHERE lease_until IS NOT NULL ORDER BY lease_until LIMIT 1) AS lease_until)
