package store

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound: no such row.
	ErrNotFound = errors.New("not found in the record")
	// ErrTurnEnded: the fence. The turn is not running any more, so nothing may be added to it.
	ErrTurnEnded = errors.New("the turn has ended")
	// ErrReadOnlySession: the session belongs to another channel or was deleted.
	ErrReadOnlySession = errors.New("the session takes no messages from here")
	// ErrSchemaTooNew: the file was written by a newer build.
	ErrSchemaTooNew = errors.New("the record was written by a newer picobot: install that version or a later one")
	// ErrSchemaTooOld: the file was written by an older build, and only reading was asked for.
	ErrSchemaTooOld = errors.New("the record was written by an older picobot: start `picobot gateway` once, which brings it up to date")
	// ErrDamaged: SQLite finds the file damaged; no other try can help.
	ErrDamaged = errors.New("the record is damaged: stop picobot and put a backup in its place, or move it away to begin anew")
	// ErrUnavailable: the record could not be written, also after the configured retries.
	ErrUnavailable = errors.New("the record cannot be written")
)

// transient reports whether err comes from SQLite itself (locked, disk full,
// I/O) and not from a rule of ours or of the schema: only then can another try help.
func transient(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_OK, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return false
	}
	return true
}

// ofSQLite reports whether err comes from SQLite itself, whatever it says.
func ofSQLite(err error) bool {
	_, ok := errors.AsType[*sqlite.Error](err)
	return ok
}

// busy reports whether another process held a lock.
func busy(err error) bool { return code(err) == sqlite3.SQLITE_BUSY }

// damaged adds ErrDamaged to errors of SQLite that mean it.
func damaged(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return errors.Join(ErrDamaged, err)
	}
	return err
}

// code is the primary result code of SQLite's (https://www.sqlite.org/rescode.html),
// SQLITE_OK for errors that are not its own.
func code(err error) int {
	if se, ok := errors.AsType[*sqlite.Error](err); ok {
		return se.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}
