-- retain_ledger: forgets unique periods that are over.
DELETE FROM tenure_ledger WHERE unique_hash IN (SELECT unique_hash FROM tenure_ledger WHERE until <= :now LIMIT :limit)
