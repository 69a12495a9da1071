#!/bin/sh
# One nightly run, as cron or systemd starts it: without a terminal, with hardly
# any environment. Usage: run.sh [LOG]. All that it needs is in its own directory;
# see README.md.
set -eu
cd "$(dirname "$0")"
umask 077

# systemd keeps the log itself and reads the key from key.env. For cron there
# are two files: LOG, and the one before it, moved aside beyond 1 MiB.
if [ $# -gt 0 ]; then
  [ ! -f "$1" ] || find "$1" -size +2047 -exec mv "$1" "$1.1" \;
  exec >>"$1" 2>&1
fi
if [ -z "${OPENAI_API_KEY:-}" ]; then
  set -a
  . ./key.env
  set +a
fi

# The report directory is the same every night. So a run that is still going on
# when the next one should begin keeps it out (exit code 2), and what earlier
# runs left is in reports/earlier.
mkdir -p reports
millhand runs prune --dir reports --keep 30 || echo "run.sh: old runs could not be removed" >&2

# By exec, so that a signal reaches millhand and its exit code is the job's.
exec millhand run millhand.yaml --report-dir reports --var "night=$(date -u +%Y%m%d-%H%M%S)"
