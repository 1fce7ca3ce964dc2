-- +goose Up

-- 0 = no compaction is due, 1 = one is due, 2 = a person asked for one
ALTER TABLE sessions ADD COLUMN compaction INTEGER NOT NULL DEFAULT 0;
-- Fruitless tries in a row, and how large (in tokens) the active segment was at the
-- last; both belong to the segment that begins behind compaction_base.
ALTER TABLE sessions ADD COLUMN compaction_strikes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN compaction_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN compaction_base INTEGER NOT NULL DEFAULT 0;
-- The size of the last answered request: as estimated, and as its provider reported it.
ALTER TABLE sessions ADD COLUMN request_estimate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN request_tokens INTEGER NOT NULL DEFAULT 0;
-- Who wrote the title, unless a person did (titled), and how often a model was asked in vain.
ALTER TABLE sessions ADD COLUMN title_source TEXT NOT NULL DEFAULT 'default' CHECK (title_source IN ('default', 'model'));
ALTER TABLE sessions ADD COLUMN title_tries INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_compaction ON sessions (id) WHERE compaction > 0;

CREATE TABLE compactions (
    id            TEXT PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    -- the session's reset_cutoff_seq that it was made for
    base_seq      INTEGER NOT NULL,
    -- the first row that stays: a user row
    cut_seq       INTEGER NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('summarised', 'committed', 'fruitless', 'dropped')),
    -- who wrote the summary: a model, or nobody (the cut transcript itself)
    source        TEXT NOT NULL CHECK (source IN ('model', 'transcript')),
    -- while it waits for its commit; then it is a row of the conversation
    summary       TEXT,
    tokens_before INTEGER NOT NULL,
    tokens_after  INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    finished_at   INTEGER
);
CREATE UNIQUE INDEX compactions_open ON compactions (session_id) WHERE state = 'summarised';
CREATE INDEX compactions_session ON compactions (session_id, created_at);
