#!/usr/bin/env bash
# Sourced by ensure_*.sh. install_or_say ADVICE WORKS PACKAGE...: as root on Debian or Ubuntu installs the first package
# after which the command WORKS succeeds; elsewhere, or when none does, says the advice. Ends with 0 either way.
install_or_say() {
  local advice=$1 works=$2 package
  shift 2
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $1 with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null || true
    for package in "$@"; do
      apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 && $works && return
    done
  fi
  echo "$advice" >&2
}
