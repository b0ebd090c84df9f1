#!/usr/bin/env bash
# Makes sure that a Chromium is there, which the tests of the HTML report drive. As root on Debian or Ubuntu it is
# installed; elsewhere one line says what to install, and this still ends with 0: without a browser those tests skip.
set -euo pipefail

for name in ${CHROMIUM:+"$CHROMIUM"} chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done

advice='the tests of the HTML report need Chromium: install it (Debian: apt-get install chromium) or set CHROMIUM'
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "$advice" >&2
  exit 0
fi
echo 'installing Chromium with apt-get'
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >/dev/null || true
if apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 && command -v chromium >/dev/null; then
  exit 0
fi
echo "$advice" >&2
