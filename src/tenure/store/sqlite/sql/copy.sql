-- copy: stores many rows that ask nothing of others, in the order of COPIED.
-- Differs from postgres: an INSERT, run once a row.
INSERT INTO tenure_jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, expires_at, parent, flow, tenant, extra, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
