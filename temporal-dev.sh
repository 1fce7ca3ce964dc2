#!/bin/sh
# A local Temporal with its web UI, for developing PicoBot against an external server.
set -eu

usage() {
	cat <<'USAGE'
usage: temporal-dev.sh [OPTION]...

Starts a Temporal server with its web UI and PicoBot's search attributes, in the
foreground, on 127.0.0.1:7233 (clients) and 127.0.0.1:8233 (web UI):

  - with `temporal server start-dev`, if the Temporal CLI is installed;
    the options are handed on to it (for example --db-filename FILE)
  - else with `picobot temporal`; the options are handed on to it
    (for example --home DIR)

PicoBot is taken from $PICOBOT_BIN, else from beside this script, else from $PATH.
To use the server, set in PicoBot's configuration:

  "temporal": { "mode": "external" }
USAGE
}

case "${1:-}" in
-h | --help)
	usage
	exit 0
	;;
esac

if command -v temporal >/dev/null 2>&1; then
	exec temporal server start-dev \
		--ip 127.0.0.1 --port 7233 --ui-port 8233 \
		--search-attribute PicobotSession=Keyword \
		--search-attribute PicobotChannel=Keyword \
		--search-attribute PicobotJob=Keyword \
		"$@"
fi

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -n "${PICOBOT_BIN:-}" ]; then
	picobot=$PICOBOT_BIN
elif [ -x "$here/picobot" ]; then
	picobot=$here/picobot
elif command -v picobot >/dev/null 2>&1; then
	picobot=picobot
else
	echo "temporal-dev.sh: neither the Temporal CLI nor picobot is installed: run \`go build -o picobot .\` in $here first" >&2
	exit 1
fi
exec "$picobot" temporal "$@"
