#!/usr/bin/env bash
# Makes sure that a Java 17 or newer is there, which Spark needs. As root on Debian or Ubuntu it is installed; elsewhere one
# line says what to install, and this still ends with 0: without Java everything but the stories works.
set -euo pipefail
here=${0%"${0##*/}"}
. "${here:-./}apt.sh"

enough() { # path of a java
  local version
  version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || return 1
  [ -n "$version" ] && [ "$version" -ge 17 ]
}

there() { command -v java >/dev/null && enough java; }

if [ -n "${JAVA_HOME:-}" ] && [ -x "$JAVA_HOME/bin/java" ]; then
  enough "$JAVA_HOME/bin/java" && exit 0
elif there; then
  exit 0
fi

advice='the stories need Java 17 or newer: install a headless JRE (Debian: apt-get install default-jre-headless) or set JAVA_HOME'
install_or_say "$advice" there openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless
