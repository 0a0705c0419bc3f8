-- retain_workers: forgets workers that have not been seen for long.
DELETE FROM tenure_workers WHERE seen_at < :now - :age
