-- +goose Up

-- Other programs change memories too, with an SQLite that cannot open the index (FTS5's
-- contentless_delete is of 3.43). So nothing that happens to a memory touches the index:
-- what has to leave it is written down, and leaves it with the next change or search here.
CREATE TABLE memory_search_gone (search_id INTEGER PRIMARY KEY);

DROP TRIGGER memories_changed;
DROP TRIGGER memories_deleted;
-- +goose StatementBegin
CREATE TRIGGER memories_changed AFTER UPDATE OF scope_kind, scope_key, namespace, memory_key, content ON memories BEGIN
    INSERT INTO memory_search_gone (search_id) SELECT OLD.search_id WHERE OLD.search_id IS NOT NULL ON CONFLICT DO NOTHING;
    UPDATE memories SET search_id = NULL WHERE rowid = NEW.rowid;
    UPDATE memory_scopes SET rev = rev + 1 WHERE scope_kind = OLD.scope_kind AND scope_key = OLD.scope_key;
    INSERT INTO memory_scopes (scope_kind, scope_key, rev) VALUES (NEW.scope_kind, NEW.scope_key, 1)
        ON CONFLICT DO UPDATE SET rev = rev + 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN
    INSERT INTO memory_search_gone (search_id) SELECT OLD.search_id WHERE OLD.search_id IS NOT NULL ON CONFLICT DO NOTHING;
    UPDATE memory_scopes SET rev = rev + 1 WHERE scope_kind = OLD.scope_kind AND scope_key = OLD.scope_key;
END;
-- +goose StatementEnd
