-- vitals: what the database says of itself, by name.
-- Differs from postgres: it has other things to say, but for the migrations.
SELECT 'migration' AS name, CAST(max(number) AS TEXT) AS value FROM tenure_meta
UNION ALL SELECT 'min_client', CAST(max(min_client) AS TEXT) FROM tenure_meta
UNION ALL SELECT 'version', sqlite_version()
UNION ALL SELECT 'journal', journal_mode FROM pragma_journal_mode
