#!/bin/sh
# One nightly run, started by cron or systemd: without a terminal, with a minimal
# environment. Usage: run.sh [LOG]. All its files are in its own directory;
# see README.md.
set -eu
cd "$(dirname "$0")"
umask 077

# systemd stores the log and reads the key from key.env. With cron there are two log
# files: LOG, and the previous one, renamed when it exceeds 1 MiB.
if [ $# -gt 0 ]; then
  [ ! -f "$1" ] || find "$1" -size +2047 -exec mv "$1" "$1.1" \;
  exec >>"$1" 2>&1
fi
if [ -z "${OPENAI_API_KEY:-}" ]; then
  set -a
  . ./key.env
  set +a
fi

# What runs share. systemd lets them write here only, and the home directory may not exist.
export MILLHAND_CACHE_DIR="${MILLHAND_CACHE_DIR:-$PWD/cache}"

# The report directory is the same every night. A run that is still active blocks the
# next one (exit code 2), and the reports of earlier runs are in reports/earlier.
mkdir -p reports
millhand report prune --dir reports --keep 30 || echo "run.sh: old runs could not be removed" >&2

# With exec, signals reach millhand and its exit code is the job's.
exec millhand run millhand.yaml --report-dir reports --var "night=$(date -u +%Y%m%d-%H%M%S)"
