-- retain_ledger: forgets unique periods that are over.
DELETE FROM tenure.ledger WHERE unique_hash IN (
    SELECT unique_hash FROM tenure.ledger WHERE until <= tenure.micros(:now::bigint) LIMIT :limit::integer FOR UPDATE SKIP LOCKED)
