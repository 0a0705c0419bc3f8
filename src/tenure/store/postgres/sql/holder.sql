-- holder: the job that holds a unique key now, for a period or by being in flight.
SELECT job_id::text AS job_id FROM tenure.ledger
WHERE :period::boolean AND unique_hash = :unique_hash::uuid AND until > tenure.micros(:now::bigint)
UNION ALL
SELECT id::text FROM tenure.jobs WHERE NOT :period::boolean AND unique_hash = :unique_hash::uuid
