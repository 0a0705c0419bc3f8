-- copy: stores many rows that ask nothing of others, in the order of COPIED.
COPY tenure.jobs (id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at, expires_at, parent, flow, tenant, extra, state) FROM STDIN
