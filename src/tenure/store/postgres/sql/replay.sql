-- replay: finished jobs go back to the line, now or at a time, as new or as they were; one whose unique slot is taken stays where it is.
-- Differs from sqlite: tells who sleeps.
WITH n AS MATERIALIZED (
    SELECT m.now, coalesce(:run_at::bigint, m.now + :delay::bigint, m.now) AS due
    FROM (SELECT tenure.micros(:now::bigint) AS now OFFSET 0) m
    LEFT JOIN LATERAL (SELECT pg_notify(s.channel, '') FROM tenure.sleepers s WHERE s.until > m.now LIMIT 1) told ON true
),
f AS MATERIALIZED (
    SELECT * FROM tenure.finished
    WHERE id IN (SELECT id FROM json_to_recordset(:ids::text::json) AS r(id uuid))
    ORDER BY id FOR UPDATE
), back AS (
    INSERT INTO tenure.jobs (
        id, seq, epoch, run_at, created_at, started_at, expires_at, rank, attempt, max_attempts, crashes, group_limit, state, queue, kind,
        lane, payload, unique_hash, group_key, parent, flow, tenant, extra, settled_epoch, trace, outcome, was)
    SELECT f.id, f.seq, f.epoch, greatest(n.due, n.now), f.created_at, CASE WHEN NOT :anew::boolean THEN f.started_at END,
           CASE WHEN NOT :anew::boolean THEN f.expires_at END, f.rank, CASE WHEN :anew::boolean THEN 0 ELSE f.attempt END,
           f.max_attempts, CASE WHEN :anew::boolean THEN 0 ELSE f.crashes END, f.group_limit,
           CASE WHEN n.due > n.now THEN 'scheduled' WHEN f.group_key IS NULL THEN 'ready' ELSE 'waiting' END, f.queue, f.kind,
           f.queue || E'\x1f' || f.kind || E'\x1f' || to_char(f.rank + 32768, 'FM00000'), f.payload,
           f.unique_hash, f.group_key, f.parent, f.flow,
           f.tenant, f.extra, f.settled_epoch, CASE WHEN f.settled_epoch IS NULL OR f.outcome IS NULL THEN f.trace
           ELSE right(coalesce(f.trace, ',') || f.settled_epoch || ':' || f.outcome || ',', 200) END, f.outcome,
           CASE WHEN :anew::boolean THEN json_build_object(
               'epoch', f.epoch, 'state', f.state, 'run_at', f.run_at, 'attempt', f.attempt, 'crashes', f.crashes,
               'started_at', f.started_at, 'finished_at', f.finished_at, 'expires_at', f.expires_at, 'cancel_at', f.cancel_at,
               'worker', f.worker, 'trace', f.trace, 'reason', f.reason, 'error', f.error, 'result', f.result,
               'progress', f.progress, 'progress_note', f.progress_note, 'was', f.was)::text END
    FROM n, f
    ORDER BY f.seq
    ON CONFLICT DO NOTHING
    RETURNING id, CASE WHEN state = 'waiting' THEN group_key END AS group_key
), gone AS (
    DELETE FROM tenure.finished d USING back WHERE d.id = back.id
)
SELECT id::text AS id, group_key FROM back
