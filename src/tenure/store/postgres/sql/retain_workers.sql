-- retain_workers: forgets workers that have not been seen for long.
DELETE FROM tenure.workers WHERE seen_at < tenure.micros(:now::bigint) - :age::bigint
