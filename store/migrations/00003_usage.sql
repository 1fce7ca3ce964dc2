-- +goose Up

ALTER TABLE turns ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;

-- Every call of a model that came to an end, whether or not its answer was kept. A
-- turn's tokens are the sums of those that ended before it did.
CREATE TABLE model_calls (
    id                TEXT PRIMARY KEY,
    -- NULL = outside of any turn
    turn_id           TEXT REFERENCES turns (id),
    step              INTEGER NOT NULL,
    -- which of the agent's models was asked: 0, or which fallback
    model_index       INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    model             TEXT NOT NULL,
    provider          TEXT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('completed', 'failed')),
    -- the kind of failure
    error             TEXT,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    reasoning_tokens  INTEGER NOT NULL,
    duration_ms       INTEGER NOT NULL,
    created_at        INTEGER NOT NULL
);
CREATE INDEX model_calls_turn ON model_calls (turn_id);

-- Whether an id of a call was given before is asked with every step that has calls.
CREATE INDEX messages_call ON messages (session_id, tool_call_id) WHERE tool_call_id IS NOT NULL;
