-- holder: the job that holds a unique key now, for a period or by being in flight.
SELECT job_id FROM tenure_ledger WHERE :period AND unique_hash = :unique_hash AND until > :now
UNION ALL
SELECT id FROM tenure_jobs WHERE NOT :period AND unique_hash = :unique_hash AND finished_at IS NULL
