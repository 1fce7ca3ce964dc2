-- +goose Up

-- The row of memories_search that a memory is found by; NULL = it is not indexed yet.
-- It grows with every change: the newest are the largest.
ALTER TABLE memories ADD COLUMN search_id INTEGER;
CREATE UNIQUE INDEX memories_searched ON memories (search_id) WHERE search_id IS NOT NULL;
CREATE INDEX memories_unsearched ON memories (id) WHERE search_id IS NULL;

-- Terms, not texts: they are made in Go (package memory), because no tokenizer of
-- SQLite's finds a Chinese word of two characters. The scope is a term of its own.
CREATE VIRTUAL TABLE memories_search USING fts5 (
    scope, content, memory_key, namespace,
    content = '', contentless_delete = 1,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co So'"
);
CREATE TABLE memory_search_ids (last INTEGER NOT NULL);
INSERT INTO memory_search_ids (last) VALUES (0);

-- What is known of a person's memories as a whole.
CREATE TABLE memory_scopes (
    scope_kind     TEXT NOT NULL,
    scope_key      TEXT NOT NULL,
    -- grows with every change of a memory
    rev            INTEGER NOT NULL,
    -- the rev that maintenance has left behind, and the one that its last plan was made for
    maintained_rev INTEGER NOT NULL DEFAULT 0,
    planned_rev    INTEGER NOT NULL DEFAULT 0,
    maintained_at  INTEGER,
    -- the person's part of AGENT.md
    markdown       TEXT NOT NULL DEFAULT '',
    -- plans in a row that were refused for failed_rev, and why the last one was
    failed_rev     INTEGER NOT NULL DEFAULT 0,
    failures       INTEGER NOT NULL DEFAULT 0,
    error          TEXT,
    PRIMARY KEY (scope_kind, scope_key)
);
INSERT INTO memory_scopes (scope_kind, scope_key, rev) SELECT DISTINCT scope_kind, scope_key, 1 FROM memories;

-- Plans on their way from the model to being applied, one for each part of a scope
-- that was too large for one question.
CREATE TABLE memory_plans (
    scope_kind      TEXT NOT NULL,
    scope_key       TEXT NOT NULL,
    rev             INTEGER NOT NULL,
    chunk           INTEGER NOT NULL,
    plan            TEXT NOT NULL,
    -- the last memory the model was shown, and whether there are more behind it
    until_namespace TEXT NOT NULL,
    until_key       TEXT NOT NULL,
    more            INTEGER NOT NULL CHECK (more IN (0, 1)),
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (scope_kind, scope_key, rev, chunk)
);

CREATE TABLE memory_runs (
    id          TEXT PRIMARY KEY,
    -- '' = all
    scope_key   TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    -- people whose memories were looked at by a model, and of those: tidied, failed
    scopes      INTEGER NOT NULL DEFAULT 0,
    changed     INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    merged      INTEGER NOT NULL DEFAULT 0,
    deleted     INTEGER NOT NULL DEFAULT 0,
    conflicts   INTEGER NOT NULL DEFAULT 0,
    tokens      INTEGER NOT NULL DEFAULT 0,
    error       TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER
);

-- Whoever changes a memory, by whatever way: its terms go, and its scope has changed.
-- New terms are made in the same transaction by who knows how.
-- +goose StatementBegin
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_scopes (scope_kind, scope_key, rev) VALUES (NEW.scope_kind, NEW.scope_key, 1)
        ON CONFLICT DO UPDATE SET rev = rev + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memories_changed AFTER UPDATE OF scope_kind, scope_key, namespace, memory_key, content ON memories BEGIN
    DELETE FROM memories_search WHERE rowid = OLD.search_id;
    UPDATE memories SET search_id = NULL WHERE rowid = NEW.rowid;
    UPDATE memory_scopes SET rev = rev + 1 WHERE scope_kind = OLD.scope_kind AND scope_key = OLD.scope_key;
    INSERT INTO memory_scopes (scope_kind, scope_key, rev) VALUES (NEW.scope_kind, NEW.scope_key, 1)
        ON CONFLICT DO UPDATE SET rev = rev + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN
    DELETE FROM memories_search WHERE rowid = OLD.search_id;
    UPDATE memory_scopes SET rev = rev + 1 WHERE scope_kind = OLD.scope_kind AND scope_key = OLD.scope_key;
END;
-- +goose StatementEnd
