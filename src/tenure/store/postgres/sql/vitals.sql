-- vitals: what the database says of itself, by name.
-- Differs from sqlite: it has other things to say, but for the migrations.
SELECT v.name, v.value FROM (VALUES
    ('migration', (SELECT max(number)::text FROM tenure.meta)),
    ('min_client', (SELECT max(min_client)::text FROM tenure.meta)),
    ('version', current_setting('server_version')),
    ('version_number', current_setting('server_version_num')),
    ('fsync', current_setting('fsync')),
    ('full_page_writes', current_setting('full_page_writes')),
    ('synchronous_commit', current_setting('synchronous_commit')),
    ('autovacuum', current_setting('autovacuum')),
    ('track_counts', current_setting('track_counts')),
    ('max_connections', current_setting('max_connections')),
    ('reserved_connections', current_setting('superuser_reserved_connections')),
    ('connections', (SELECT count(*)::text FROM pg_stat_activity WHERE backend_type = 'client backend')),
    ('standby', pg_is_in_recovery()::text),
    ('sees_all', pg_has_role('pg_read_all_stats', 'USAGE')::text)
) AS v(name, value)
UNION ALL
SELECT w.name || '_of_' || c.relname, w.value
FROM pg_class c, LATERAL (VALUES
    ('autovacuum', coalesce((SELECT o.option_value FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'autovacuum_enabled'), 'true')),
    ('live', pg_stat_get_live_tuples(c.oid)::text),
    ('dead', pg_stat_get_dead_tuples(c.oid)::text),
    ('table_bytes', pg_table_size(c.oid)::text),
    ('index_bytes', pg_indexes_size(c.oid)::text)
) AS w(name, value)
WHERE c.oid IN ('tenure.jobs'::regclass, 'tenure.finished'::regclass, 'tenure.attempts'::regclass)
