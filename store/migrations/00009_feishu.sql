-- +goose Up

-- 1 = something that the message only points at (files, a quoted message) is still to
-- be fetched: its turn does not begin before.
ALTER TABLE inbound_messages ADD COLUMN unprepared INTEGER NOT NULL DEFAULT 0;

-- What a channel outside has been asked to show for an outbox row, message by message.
CREATE TABLE outbound_pieces (
    origin      TEXT NOT NULL,
    part        INTEGER NOT NULL,
    piece       INTEGER NOT NULL,
    -- grows when what was shown is gone for good: the next message is another one
    generation  INTEGER NOT NULL DEFAULT 0,
    -- since when an attempt may have got through without our knowing; NULL = it is surely not there
    tried_at    INTEGER,
    -- the channel's id of it: it is there
    external_id TEXT,
    -- 1 = it shows how the turn gets on, and what is to be said must still be put into it
    progress    INTEGER NOT NULL DEFAULT 0 CHECK (progress IN (0, 1)),
    PRIMARY KEY (origin, part, piece)
);
CREATE INDEX outbound_pieces_external ON outbound_pieces (external_id) WHERE external_id IS NOT NULL;
CREATE INDEX outbound_pieces_progress ON outbound_pieces (origin) WHERE progress = 1;

-- The mark on a message that is being worked on. Without an id it may or may not be there.
CREATE TABLE turn_reactions (
    turn_id     TEXT PRIMARY KEY REFERENCES turns (id),
    message_id  TEXT NOT NULL,
    reaction_id TEXT NOT NULL DEFAULT ''
);
