-- copy_bare: copy for rows without options, due at once.
-- Differs from postgres: an INSERT, run once a row.
INSERT INTO tenure_jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
