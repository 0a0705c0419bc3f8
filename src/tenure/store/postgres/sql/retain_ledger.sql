-- retain_ledger: forgets unique periods that are over.
WITH n AS MATERIALIZED (SELECT tenure.micros(:now::bigint) AS now)
DELETE FROM tenure.ledger WHERE unique_hash IN (
    SELECT unique_hash FROM tenure.ledger WHERE until <= (SELECT now FROM n) LIMIT :limit::integer FOR UPDATE SKIP LOCKED)
