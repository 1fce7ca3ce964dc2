-- +goose Up

-- Which rows of the session a call's request held, as ranges of seq ("1-3,7"), and
-- which of them as a stub that only names where the whole is. NULL = not known: the
-- call is from before this was kept, or its request was not made of rows.
ALTER TABLE model_calls ADD COLUMN request_rows TEXT;
ALTER TABLE model_calls ADD COLUMN request_stubs TEXT;

-- Lists of turns are read newest first.
CREATE INDEX turns_created ON turns (created_at, id);
