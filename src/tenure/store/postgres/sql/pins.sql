-- pins: what keeps vacuum from removing old rows: transactions, prepared ones and replication slots, the oldest first.
-- Only on postgres: elsewhere nothing waits for vacuum.
SELECT p.what, p.name, p.state, p.age, p.xids FROM (
    SELECT 'transaction' AS what, a.pid::text AS name, coalesce(a.state, a.backend_type) AS state,
           (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000000)::bigint AS age,
           greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS xids
    FROM pg_stat_activity a
    WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid()
      AND (a.datname = current_database() OR a.datname IS NULL) AND a.backend_type <> 'autovacuum worker'
    UNION ALL
    SELECT 'prepared transaction', x.gid, 'prepared',
           (extract(epoch FROM clock_timestamp() - x.prepared) * 1000000)::bigint, age(x.transaction)::bigint
    FROM pg_prepared_xacts x WHERE x.database = current_database()
    UNION ALL
    SELECT 'replication slot', s.slot_name, CASE WHEN s.active THEN 'active' ELSE 'inactive' END, NULL,
           coalesce(age(s.xmin), 0)::bigint
    FROM pg_replication_slots s WHERE s.xmin IS NOT NULL OR NOT s.active
) p
ORDER BY p.age DESC NULLS LAST, p.xids DESC LIMIT :limit::integer
