-- +goose Up

CREATE TABLE sessions (
    id                  TEXT PRIMARY KEY,
    channel             TEXT NOT NULL,
    chat_id             TEXT NOT NULL,
    dialog_id           TEXT NOT NULL,
    title               TEXT NOT NULL DEFAULT '',
    agent               TEXT NOT NULL DEFAULT 'default',
    created_at          INTEGER NOT NULL,
    last_active_at      INTEGER NOT NULL,
    message_count       INTEGER NOT NULL DEFAULT 0,
    total_message_count INTEGER NOT NULL DEFAULT 0,
    routing_info        TEXT,
    reset_cutoff_seq    INTEGER NOT NULL DEFAULT 0,
    deleted_at          INTEGER,
    -- the highest seq ever given out in this session
    last_seq            INTEGER NOT NULL DEFAULT 0,
    -- 1 for the dialog that messages without an explicit session go to
    active              INTEGER NOT NULL DEFAULT 0,
    UNIQUE (channel, chat_id, dialog_id)
);
CREATE UNIQUE INDEX sessions_active ON sessions (channel, chat_id) WHERE active = 1;
CREATE INDEX sessions_recent ON sessions (last_active_at);

CREATE TABLE messages (
    id                TEXT PRIMARY KEY,
    session_id        TEXT NOT NULL REFERENCES sessions (id),
    seq               INTEGER NOT NULL,
    role              TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool')),
    content           TEXT NOT NULL,
    reasoning_content TEXT,
    media_refs        TEXT,
    tool_calls        TEXT,
    tool_call_id      TEXT,
    tool_name         TEXT,
    marker            TEXT,
    turn_id           TEXT,
    step              INTEGER,
    origin_seq        INTEGER,
    created_at        INTEGER NOT NULL,
    UNIQUE (session_id, seq)
);
-- One answer per model step: what makes CallModel idempotent.
CREATE UNIQUE INDEX messages_answer ON messages (turn_id, step)
    WHERE role = 'assistant' AND origin_seq IS NULL AND marker IS NULL AND turn_id IS NOT NULL;
CREATE INDEX messages_turn ON messages (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX messages_marker ON messages (session_id, marker, seq) WHERE marker IS NOT NULL;

CREATE TABLE inbound_messages (
    id           TEXT PRIMARY KEY,
    channel      TEXT NOT NULL,
    chat_id      TEXT NOT NULL,
    external_id  TEXT NOT NULL,
    session_id   TEXT NOT NULL REFERENCES sessions (id),
    sender_id    TEXT NOT NULL,
    content      TEXT NOT NULL,
    media        TEXT,
    status       TEXT NOT NULL CHECK (status IN ('received', 'dispatched', 'done', 'failed', 'cancelled')),
    turn_id      TEXT,
    received_at  INTEGER NOT NULL,
    finished_at  INTEGER,
    metadata     TEXT,
    UNIQUE (channel, chat_id, external_id)
);
CREATE INDEX inbound_pending ON inbound_messages (status) WHERE status IN ('received', 'dispatched');

CREATE TABLE turns (
    id                  TEXT PRIMARY KEY,
    session_id          TEXT NOT NULL REFERENCES sessions (id),
    inbound_id          TEXT NOT NULL REFERENCES inbound_messages (id),
    status              TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    model               TEXT NOT NULL DEFAULT '',
    steps               INTEGER NOT NULL DEFAULT 0,
    prompt_tokens       INTEGER NOT NULL DEFAULT 0,
    completion_tokens   INTEGER NOT NULL DEFAULT 0,
    error               TEXT,
    error_code          TEXT,
    cancel_requested_at INTEGER,
    workflow_id         TEXT,
    run_id              TEXT,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    finished_at         INTEGER,
    -- the channel's own time of the message: the order of waiting turns
    queued_at           INTEGER NOT NULL,
    -- how often the turn was begun since it last made progress
    claims              INTEGER NOT NULL DEFAULT 0,
    progress_at         INTEGER NOT NULL,
    -- grows with every change of any turn: what readers follow
    rev                 INTEGER NOT NULL
);
-- One turn at a time in a session.
CREATE UNIQUE INDEX turns_running ON turns (session_id) WHERE status = 'running';
CREATE INDEX turns_waiting ON turns (session_id, queued_at) WHERE status IN ('queued', 'running');
CREATE INDEX turns_session_rev ON turns (session_id, rev);
CREATE UNIQUE INDEX turns_rev ON turns (rev);

CREATE TABLE tool_runs (
    id          TEXT PRIMARY KEY,
    turn_id     TEXT NOT NULL REFERENCES turns (id),
    step        INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    call_id     TEXT NOT NULL,
    name        TEXT NOT NULL,
    effect      TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('claimed', 'completed', 'failed', 'unknown')),
    result      TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (turn_id, step, position)
);

CREATE TABLE outbound_messages (
    id          TEXT PRIMARY KEY,
    channel     TEXT NOT NULL,
    chat_id     TEXT NOT NULL,
    session_id  TEXT,
    origin      TEXT NOT NULL,
    turn_id     TEXT,
    part        INTEGER NOT NULL,
    content     TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('pending', 'sent', 'failed')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    external_id TEXT,
    error       TEXT,
    created_at  INTEGER NOT NULL,
    sent_at     INTEGER,
    UNIQUE (origin, part)
);
CREATE INDEX outbound_session ON outbound_messages (session_id) WHERE status = 'pending';
CREATE INDEX outbound_pending ON outbound_messages (channel, chat_id, created_at) WHERE status = 'pending';

CREATE TABLE memories (
    id                 TEXT PRIMARY KEY,
    scope_kind         TEXT NOT NULL,
    scope_key          TEXT NOT NULL,
    namespace          TEXT NOT NULL,
    memory_key         TEXT NOT NULL,
    content            TEXT NOT NULL,
    source_type        TEXT,
    source_session_id  TEXT,
    source_message_id  TEXT,
    source_message_seq INTEGER,
    source_channel     TEXT,
    source_chat_id     TEXT,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    UNIQUE (scope_kind, scope_key, namespace, memory_key)
);

CREATE TABLE skill_events (
    id         TEXT PRIMARY KEY,
    skill      TEXT NOT NULL,
    event      TEXT NOT NULL,
    scope      TEXT,
    session_id TEXT,
    detail     TEXT,
    created_at INTEGER NOT NULL
);

CREATE TABLE scheduler_jobs (
    id             TEXT PRIMARY KEY,
    kind           TEXT NOT NULL,
    schedule       TEXT NOT NULL,
    target         TEXT NOT NULL,
    payload        TEXT NOT NULL,
    time_zone      TEXT NOT NULL,
    misfire_policy TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('active', 'paused', 'completed')),
    source         TEXT NOT NULL,
    created_by     TEXT,
    last_run_at    INTEGER,
    last_status    TEXT,
    next_run_at    INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
);

CREATE TABLE job_runs (
    id            TEXT PRIMARY KEY,
    job_id        TEXT NOT NULL,
    trigger       TEXT NOT NULL CHECK (trigger IN ('schedule', 'manual', 'catch_up')),
    scheduled_for INTEGER NOT NULL,
    started_at    INTEGER,
    finished_at   INTEGER,
    status        TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'skipped', 'missed')),
    error         TEXT,
    session_id    TEXT,
    turn_id       TEXT,
    workflow_id   TEXT,
    run_id        TEXT
);
CREATE UNIQUE INDEX job_runs_slot ON job_runs (job_id, scheduled_for) WHERE trigger <> 'manual';
CREATE INDEX job_runs_job ON job_runs (job_id, scheduled_for);
