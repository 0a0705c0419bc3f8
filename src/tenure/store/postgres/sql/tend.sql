-- tend: the store's time, and whether anything is due, overdue, expired or left word about.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
SELECT n.now,
       EXISTS (SELECT FROM tenure.jobs WHERE state = 'scheduled' AND run_at <= n.now AND run_at >= :after::bigint) AS due,
       EXISTS (SELECT FROM tenure.jobs WHERE lease_until <= n.now AND lease_until >= :after::bigint) AS overdue,
       EXISTS (SELECT FROM tenure.jobs WHERE expires_at <= n.now AND state <> 'running') AS expired,
       EXISTS (SELECT FROM tenure.wakes) AS woken
FROM n
