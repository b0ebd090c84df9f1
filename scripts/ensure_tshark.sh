#!/usr/bin/env bash
# Makes sure that tshark is there, an oracle of many tests. As root on Debian or Ubuntu it is installed; elsewhere one line
# says what to install, and this still ends with 0: without tshark those tests skip.
set -euo pipefail
here=${0%"${0##*/}"}
. "${here:-./}apt.sh"

there() { command -v tshark >/dev/null; }

there && exit 0
install_or_say 'tests that compare with Wireshark need tshark: install it (Debian: apt-get install tshark)' there tshark
