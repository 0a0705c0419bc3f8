-- group_line: who holds a group's slots.
SELECT id, state, worker, queue, kind FROM tenure_jobs WHERE group_key = :group_key AND held IS NOT NULL ORDER BY run_at, seq LIMIT 20
