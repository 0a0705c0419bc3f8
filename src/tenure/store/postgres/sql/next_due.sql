-- next_due: microseconds until the earliest scheduled job is due or the earliest lease runs out; NULL if there is neither.
SELECT least(
    (SELECT run_at FROM tenure.jobs WHERE state = 'scheduled' ORDER BY run_at LIMIT 1),
    (SELECT lease_until FROM tenure.jobs WHERE lease_until IS NOT NULL ORDER BY lease_until LIMIT 1)
) - tenure.micros(:now::bigint) AS due_in
