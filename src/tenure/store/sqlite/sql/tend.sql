-- tend: the store's time, and whether anything is due, overdue, expired or left word about.
-- Differs from postgres: nobody needs to leave word.
SELECT :now AS now,
       EXISTS (SELECT 1 FROM tenure_jobs WHERE state = 'scheduled' AND run_at <= :now AND run_at >= :after) AS due,
       EXISTS (SELECT 1 FROM tenure_jobs WHERE lease_until <= :now AND lease_until >= :after) AS overdue,
       EXISTS (SELECT 1 FROM tenure_jobs
               WHERE finished_at IS NULL AND expires_at <= :now AND state <> 'running') AS expired,
       0 AS woken
