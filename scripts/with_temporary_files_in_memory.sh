#!/usr/bin/env bash
# Runs a command whose temporary files are in memory, and removes them at its end. Tests write and remove some hundred
# thousand small files; on a disk, each that is removed may take half a millisecond in which the test waits. Where
# /dev/shm has no room for them, as in most containers, the command has the usual folder.
set -euo pipefail
ROOM=4000000  # kB; all tests together leave a fifth of it

room() { df -k --output=avail "$1" 2>/dev/null | tail -n 1; }

memory=/dev/shm
[ -w "$memory" ] && [ "$(stat -f -c %T "$memory" 2>/dev/null)" = tmpfs ] && [ "$(room "$memory")" -ge $ROOM ] || exec "$@"
[ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -ge $((2 * ROOM)) ] || exec "$@"
TMPDIR=$(mktemp -d "$memory/kafkascope-tests.XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$@"
