-- enqueue: stores the rows it can; a row whose id or unique slot is taken is left out, and the count tells.
-- Differs from postgres: takes rows in process instead of unpacking one JSON parameter.
INSERT INTO tenure_jobs (
    id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, expires_at, unique_hash, group_key, group_limit,
    parent, flow, tenant, extra, state, held)
VALUES (
    :id, :lane, :queue, :kind, :rank, :payload, :max_attempts, coalesce(:run_at, :now + coalesce(:delay, 0)), :now,
    coalesce(:expires_at, :now + :expires_in), :unique_hash, :group_key, :group_limit, :parent, :flow, :tenant, :extra,
    CASE WHEN coalesce(:run_at, :now + coalesce(:delay, 0)) > :now THEN 'scheduled'
         WHEN :group_key IS NULL THEN 'ready'
         WHEN :lead AND NOT EXISTS (SELECT 1 FROM tenure_jobs h WHERE h.group_key = :group_key AND h.held IS NOT NULL)
              AND NOT EXISTS (SELECT 1 FROM tenure_jobs w WHERE w.state = 'waiting' AND w.group_key = :group_key) THEN 'ready'
         ELSE 'waiting' END,
    CASE WHEN :lead AND NOT EXISTS (SELECT 1 FROM tenure_jobs h WHERE h.group_key = :group_key AND h.held IS NOT NULL)
              AND NOT EXISTS (SELECT 1 FROM tenure_jobs w WHERE w.state = 'waiting' AND w.group_key = :group_key) THEN 1 END)
ON CONFLICT DO NOTHING
