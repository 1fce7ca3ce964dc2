-- +goose Up

-- 1 for what was sent to a chat outside its turns, until the chat's next turn has it
-- as a row: the model must know what the person has read.
ALTER TABLE outbound_messages ADD COLUMN unnoted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX outbound_unnoted ON outbound_messages (channel, chat_id, created_at) WHERE unnoted = 1;

-- Which chats a person has been in: where session_send may send to.
CREATE INDEX inbound_sender ON inbound_messages (channel, sender_id, chat_id);
