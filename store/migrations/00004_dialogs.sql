-- +goose Up

-- The dialog that took this one's place when it had expired or was deleted: who
-- followed the chat here goes on there.
ALTER TABLE sessions ADD COLUMN successor_id TEXT;
-- 1 = a person chose the title.
ALTER TABLE sessions ADD COLUMN titled INTEGER NOT NULL DEFAULT 0;
-- The agent that the turn began with; NULL = it has not begun.
ALTER TABLE turns ADD COLUMN agent TEXT;

-- The dialogs that the last /sessions of a chat showed, in its order: what a number means.
CREATE TABLE session_lists (
    channel     TEXT NOT NULL,
    chat_id     TEXT NOT NULL,
    session_ids TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (channel, chat_id)
);

-- What was counted of erased sessions, under the numbers it had (turns.rev, the rowid
-- of model_calls and tool_runs): nothing in here says what it was about.
CREATE TABLE tally_turns (
    rev       INTEGER PRIMARY KEY,
    channel   TEXT NOT NULL,
    status    TEXT NOT NULL,
    began     INTEGER NOT NULL,
    waited_ms INTEGER NOT NULL,
    took_ms   INTEGER NOT NULL
);
CREATE TABLE tally_calls (
    id                INTEGER PRIMARY KEY,
    model             TEXT NOT NULL,
    provider          TEXT NOT NULL,
    error             TEXT NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    reasoning_tokens  INTEGER NOT NULL,
    duration_ms       INTEGER NOT NULL
);
CREATE TABLE tally_runs (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    status  TEXT NOT NULL,
    took_ms INTEGER NOT NULL
);

-- SQLite gives the number of an erased last row out again; whoever counts by these
-- numbers would take the new row for one that was counted.
-- +goose StatementBegin
CREATE TRIGGER model_calls_number AFTER INSERT ON model_calls
WHEN NEW.rowid <= (SELECT coalesce(max(id), 0) FROM tally_calls)
BEGIN
    UPDATE model_calls SET rowid = (SELECT max(id) FROM tally_calls) + 1 WHERE rowid = NEW.rowid;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER tool_runs_number AFTER INSERT ON tool_runs
WHEN NEW.rowid <= (SELECT coalesce(max(id), 0) FROM tally_runs)
BEGIN
    UPDATE tool_runs SET rowid = (SELECT max(id) FROM tally_runs) + 1 WHERE rowid = NEW.rowid;
END;
-- +goose StatementEnd

-- What belongs to a session is found by it, and what refers to a row that goes.
CREATE INDEX inbound_session ON inbound_messages (session_id);
CREATE INDEX outbound_of_session ON outbound_messages (session_id);
CREATE INDEX turns_inbound ON turns (inbound_id);
