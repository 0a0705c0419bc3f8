-- copy_bare: copy for rows without options, due at once.
COPY tenure.jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at) FROM STDIN
