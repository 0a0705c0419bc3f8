-- group_line: who holds a group's slots.
SELECT id::text AS id, state, worker, queue, kind FROM tenure.jobs WHERE group_key = :group_key::text AND held ORDER BY run_at, seq LIMIT 20
