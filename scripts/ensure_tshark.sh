#!/usr/bin/env bash
# Makes sure that tshark is there, an oracle of many tests. As root on Debian or Ubuntu it is installed; elsewhere one line
# says what to install, and this still ends with 0: without tshark those tests skip.
set -euo pipefail

command -v tshark >/dev/null && exit 0
advice='tests that compare with Wireshark need tshark: install it (Debian: apt-get install tshark)'
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "$advice" >&2
  exit 0
fi
echo 'installing tshark with apt-get'
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null || true
if apt-get install -y -qq --no-install-recommends tshark >/dev/null 2>&1 && command -v tshark >/dev/null; then
  exit 0
fi
echo "$advice" >&2
