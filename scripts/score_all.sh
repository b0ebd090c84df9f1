#!/usr/bin/env bash
# Analyzes captures and compares each dataset with the truth beside the capture.
#
#   score_all.sh SCORE.py CAPTURES_DIRECTORY [NAME...]      (without names: all that have a truth)
#
# Fails where a capture cannot be analyzed, where the sections core and requests of healthy_basic, leader_move or txn fall
# short, or where any byte ledger does not add up. The other rows are printed for people to read.
set -uo pipefail

score=$1 captures=$2
shift 2
strict=' healthy_basic leader_move txn '
kafkascope=${KAFKASCOPE:-.venv/bin/kafkascope} python=${PYTHON:-.venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# = 0 ]; then
  for truth in "$captures"/*.truth.json; do set -- "$@" "$(basename "$truth" .truth.json)"; done
fi

failed=0 passed=0
fail() { echo "FAILED $1: $2"; failed=$((failed + 1)); }

for name in "$@"; do
  parts=("$captures/$name".pcap* "$captures/$name"-part*.pcap*)
  files=()
  for part in "${parts[@]}"; do [ -e "$part" ] && files+=("$part"); done
  if [ ${#files[@]} = 0 ]; then continue; fi
  echo "== $name"
  if ! "$kafkascope" analyze -q --format json "${files[@]}" -o "$work/$name.kscope" >/dev/null; then
    fail "$name" 'analyze ended with an error'
    continue
  fi
  sections=core,requests
  "$python" "$score" "$work/$name.kscope" "$captures/$name.truth.json" --only "$sections" >"$work/rows" 2>&1
  held=$?
  cat "$work/rows"
  if [[ $strict == *" $name "* ]] && [ $held != 0 ]; then
    fail "$name" 'core and requests must hold'
  elif ! grep -q '^ok .*ledger' "$work/rows"; then
    fail "$name" 'the byte ledger must add up'
  else
    passed=$((passed + 1))
  fi
  "$python" "$score" "$work/$name.kscope" "$captures/$name.truth.json" --only roles,topology,clients,startups,recoveries 2>&1 |
    sed 's/^/   /'
  rm -rf "$work/$name.kscope"
done

echo "================ $passed passed, $failed failed ================"
[ "$failed" = 0 ]
