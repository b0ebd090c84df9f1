#!/usr/bin/env bash
# Makes a virtual environment with the first Python 3.11 or newer that is found: make_venv.sh DIRECTORY
set -euo pipefail

place=$1
if [ -x "$place/bin/python" ] && "$place/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  exit 0
fi
for python in python3.11 python3.12 python3.13 python3 python3.14 python; do
  if command -v "$python" >/dev/null && "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "making $place with $("$python" --version)"
    exec "$python" -m venv "$place"
  fi
done
echo "no Python 3.11 or newer was found: install one (on Debian: apt-get install python3 python3-venv)" >&2
exit 1
