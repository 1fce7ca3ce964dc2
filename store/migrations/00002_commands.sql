-- +goose Up

-- A slash command and its answer. Its inbound row has no turn and is done from the
-- start: messages and commands of a chat share one space of external ids.
CREATE TABLE commands (
    id         TEXT PRIMARY KEY,
    inbound_id TEXT NOT NULL UNIQUE REFERENCES inbound_messages (id),
    name       TEXT NOT NULL,
    ok         INTEGER NOT NULL CHECK (ok IN (0, 1)),
    text       TEXT NOT NULL,
    data       TEXT,
    -- where the chat is after the command; where it was said is in its inbound row
    session_id TEXT NOT NULL REFERENCES sessions (id),
    created_at INTEGER NOT NULL
);
CREATE INDEX commands_session ON commands (session_id);
