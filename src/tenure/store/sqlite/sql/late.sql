-- late: how many leases ran out, how many jobs were due :patience ago and still stand scheduled, and the earliest of each.
SELECT :now AS now,
       (SELECT count(*) FROM (
           SELECT 1 FROM tenure_jobs WHERE lease_until <= :now LIMIT :cap)) AS overdue,
       (SELECT lease_until FROM tenure_jobs WHERE lease_until IS NOT NULL ORDER BY lease_until LIMIT 1) AS lease_until,
       (SELECT count(*) FROM (
           SELECT 1 FROM tenure_jobs WHERE state = 'scheduled' AND run_at <= :now - :patience LIMIT :cap)) AS stuck,
       (SELECT run_at FROM tenure_jobs INDEXED BY tenure_jobs_scheduled WHERE state = 'scheduled' ORDER BY run_at LIMIT 1) AS run_at
