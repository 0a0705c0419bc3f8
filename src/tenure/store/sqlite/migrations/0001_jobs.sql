-- The first schema: all jobs in one table (SQLite removes index entries at once, so history costs a claim nothing).
CREATE TABLE tenure_jobs (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    state         TEXT NOT NULL DEFAULT 'ready',
    epoch         INTEGER NOT NULL DEFAULT 0,
    attempt       INTEGER NOT NULL DEFAULT 0,
    lease_until   INTEGER,
    worker        TEXT,
    started_at    INTEGER,
    finished_at   INTEGER,
    outcome       TEXT,
    settled_epoch INTEGER,
    trace         TEXT,
    result        TEXT,
    held          INTEGER,
    run_at        INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    rank          INTEGER NOT NULL,
    max_attempts  INTEGER NOT NULL,
    crashes       INTEGER NOT NULL DEFAULT 0,
    doubt         INTEGER,
    queue         TEXT NOT NULL,
    kind          TEXT NOT NULL,
    lane          TEXT NOT NULL,
    payload       TEXT NOT NULL,
    expires_at    INTEGER,
    cancel_at     INTEGER,
    reason        TEXT,
    error         TEXT,
    progress      REAL,
    progress_note TEXT,
    unique_hash   TEXT,
    group_key     TEXT,
    group_limit   INTEGER,
    parent        TEXT,
    flow          TEXT,
    tenant        TEXT,
    extra         TEXT,
    was           TEXT
) STRICT;

CREATE INDEX tenure_jobs_ready ON tenure_jobs (lane, run_at) WHERE state = 'ready';
CREATE INDEX tenure_jobs_scheduled ON tenure_jobs (run_at) WHERE state = 'scheduled';
CREATE INDEX tenure_jobs_lease ON tenure_jobs (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tenure_jobs_expiry ON tenure_jobs (expires_at) WHERE expires_at IS NOT NULL AND finished_at IS NULL;
CREATE UNIQUE INDEX tenure_jobs_unique ON tenure_jobs (unique_hash) WHERE unique_hash IS NOT NULL AND finished_at IS NULL;
CREATE INDEX tenure_jobs_waiting ON tenure_jobs (group_key, rank, run_at) WHERE state = 'waiting';
CREATE INDEX tenure_jobs_held ON tenure_jobs (group_key) WHERE held IS NOT NULL;
CREATE INDEX tenure_jobs_dead ON tenure_jobs (id, queue) WHERE state = 'dead';
CREATE INDEX tenure_jobs_flow ON tenure_jobs (flow, id) WHERE flow IS NOT NULL;
CREATE INDEX tenure_jobs_parent ON tenure_jobs (parent, id) WHERE parent IS NOT NULL;

CREATE TABLE tenure_attempts (
    job_id      TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    worker      TEXT,
    started_at  INTEGER,
    finished_at INTEGER NOT NULL,
    outcome     TEXT,
    error_kind  TEXT NOT NULL,
    message     TEXT NOT NULL,
    traceback   TEXT,
    fingerprint TEXT,
    PRIMARY KEY (job_id, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_requests (
    job_id  TEXT PRIMARY KEY,
    body    BLOB NOT NULL,
    headers TEXT NOT NULL
) STRICT;

CREATE TRIGGER tenure_jobs_gone AFTER DELETE ON tenure_jobs BEGIN
    DELETE FROM tenure_attempts WHERE job_id = old.id;
    DELETE FROM tenure_requests WHERE job_id = old.id;
END;

CREATE TABLE tenure_ledger (
    unique_hash TEXT PRIMARY KEY,
    job_id      TEXT NOT NULL,
    until       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_ledger_until ON tenure_ledger (until);

CREATE TABLE tenure_queues (
    name      TEXT PRIMARY KEY,
    paused_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_workers (
    id         TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    queues     TEXT,
    kinds      TEXT,
    about      TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_schedules (
    name       TEXT PRIMARY KEY,
    cron       TEXT NOT NULL,
    tz         TEXT NOT NULL,
    missed     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    payload    TEXT NOT NULL,
    options    TEXT NOT NULL,
    source     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    fired_at   INTEGER,
    paused_at  INTEGER,
    made       TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_hooks (
    kind         TEXT NOT NULL,
    hook         TEXT NOT NULL,
    queue        TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    PRIMARY KEY (kind, hook)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_notes (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    until INTEGER
) STRICT;
CREATE INDEX tenure_notes_until ON tenure_notes (until) WHERE until IS NOT NULL;

CREATE TABLE tenure_audit (
    id     TEXT PRIMARY KEY,
    at     INTEGER NOT NULL,
    who    TEXT NOT NULL,
    action TEXT NOT NULL,
    what   TEXT NOT NULL,
    count  INTEGER NOT NULL,
    said   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_rollups (
    span      INTEGER NOT NULL,
    minute    INTEGER NOT NULL,
    source    TEXT NOT NULL,
    queue     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    done      INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    dead      INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    waited    TEXT NOT NULL,
    ran       TEXT NOT NULL,
    PRIMARY KEY (span, minute, source, queue, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_samples (
    minute  INTEGER NOT NULL,
    queue   TEXT NOT NULL,
    ready   INTEGER NOT NULL,
    running INTEGER NOT NULL,
    oldest  INTEGER,
    busy    INTEGER NOT NULL,
    slots   INTEGER NOT NULL,
    PRIMARY KEY (minute, queue)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_error_groups (
    hour        INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    count       INTEGER NOT NULL,
    dead        INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    error_kind  TEXT NOT NULL,
    message     TEXT NOT NULL,
    sample_id   TEXT NOT NULL,
    first_seen  INTEGER NOT NULL,
    last_seen   INTEGER NOT NULL,
    frame       TEXT NOT NULL,
    PRIMARY KEY (hour, fingerprint)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_error_groups_fingerprint ON tenure_error_groups (fingerprint, hour);

CREATE VIEW tenure_readable AS
SELECT id, seq, state, kind, queue, -rank AS priority, attempt, max_attempts, crashes, epoch, worker, reason, error,
       datetime(run_at / 1000000, 'unixepoch') AS run_at, datetime(created_at / 1000000, 'unixepoch') AS created_at,
       datetime(lease_until / 1000000, 'unixepoch') AS lease_until,
       datetime(finished_at / 1000000, 'unixepoch') AS finished_at, payload, result
FROM tenure_jobs;
