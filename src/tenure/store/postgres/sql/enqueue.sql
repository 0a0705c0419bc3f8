-- enqueue: stores the rows it can; a row whose id or unique slot is taken is left out, and the count tells.
-- Differs from sqlite: tells who sleeps, and which rows it stored, for others may store the rest meanwhile; and takes unique slots,
-- and of the others ids, in one order, whatever order the rows have: who takes them the other way round would wait for who waits for it.
WITH n AS MATERIALIZED (
    SELECT m.now FROM (SELECT tenure.micros(:now::bigint) AS now OFFSET 0) m
    LEFT JOIN LATERAL (SELECT pg_notify(s.channel, '') FROM tenure.sleepers s WHERE s.until > m.now LIMIT 1) told ON true
),
r AS MATERIALIZED (
    SELECT r.*, tenure.next_seq() AS seq, n.now, coalesce(r.run_at, n.now + coalesce(r.delay, 0)) AS due,
           r.lead AND (SELECT 1 FROM tenure.jobs h WHERE h.group_key = r.group_key AND h.held LIMIT 1) IS NULL
           AND (SELECT 1 FROM tenure.jobs w WHERE w.state = 'waiting' AND w.group_key = r.group_key LIMIT 1) IS NULL AS first
    FROM n, json_to_recordset(:rows::text::json) AS r(
        id uuid, lane text, queue text, kind text, rank integer, payload text, max_attempts integer, run_at bigint,
        delay bigint, expires_at bigint, expires_in bigint, unique_hash uuid, group_key text, group_limit integer,
        parent uuid, flow text, tenant text, extra text, lead boolean)
)
INSERT INTO tenure.jobs (
    id, seq, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, expires_at, unique_hash, group_key, group_limit,
    parent, flow, tenant, extra, state, held)
SELECT id, seq, lane, queue, kind, rank, payload, max_attempts, due, now, coalesce(expires_at, now + expires_in), unique_hash,
       group_key, group_limit, parent, flow, tenant, extra,
       CASE WHEN due > now THEN 'scheduled' WHEN group_key IS NULL OR first THEN 'ready' ELSE 'waiting' END,
       CASE WHEN first THEN true END
FROM r ORDER BY unique_hash, CASE WHEN unique_hash IS NULL THEN id END, seq
ON CONFLICT DO NOTHING
RETURNING id::text AS id
