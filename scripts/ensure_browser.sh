#!/usr/bin/env bash
# Makes sure that a Chromium is there, which the tests of the HTML report drive. As root on Debian or Ubuntu it is
# installed; elsewhere one line says what to install, and this still ends with 0: without a browser those tests skip.
set -euo pipefail
here=${0%"${0##*/}"}
. "${here:-./}apt.sh"

there() {
  local name
  for name in ${CHROMIUM:+"$CHROMIUM"} chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && return
  done
  return 1
}

there && exit 0
advice='the tests of the HTML report need Chromium: install it (Debian: apt-get install chromium) or set CHROMIUM'
install_or_say "$advice" there chromium
