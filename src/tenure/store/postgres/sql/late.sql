-- late: how many leases ran out, how many jobs were due :patience ago and still stand scheduled, and the earliest of each.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT n.now,
       (SELECT count(*) FROM (
           SELECT FROM tenure.jobs WHERE lease_until <= n.now ORDER BY lease_until LIMIT :cap::integer) o) AS overdue,
       (SELECT lease_until FROM tenure.jobs WHERE lease_until IS NOT NULL ORDER BY lease_until LIMIT 1) AS lease_until,
       (SELECT count(*) FROM (
           SELECT FROM tenure.jobs WHERE state = 'scheduled' AND run_at <= n.now - :patience::bigint
           ORDER BY run_at LIMIT :cap::integer) s) AS stuck,
       (SELECT run_at FROM tenure.jobs WHERE state = 'scheduled' ORDER BY run_at LIMIT 1) AS run_at
FROM n
