#!/usr/bin/env bash
# Makes a git repository with one commit of a published Go module, pinned and
# checked by Go's checksum database. Usage: fetch.sh [DIRECTORY]; without an
# argument the directory is "src" beside this script.
set -euo pipefail

module=github.com/gobwas/glob@v1.1.0
target=${1:-$(dirname "$0")/src}

if [ -e "$target" ]; then
  echo "fetch.sh: $target is already there; remove it to start afresh" >&2
  exit 1
fi
# Away from any go.mod, so that no module's replacements are taken. On an error
# go writes its reason into the JSON and exits with 1.
if ! found=$(cd / && go mod download -json "$module"); then
  echo "fetch.sh: download $module: $found" >&2
  exit 1
fi
cache=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' <<<"$found")

cp -R "$cache" "$target"
chmod -R u+w "$target" # the module cache is read-only
cd "$target"

# A fixed author and date give the same commit everywhere; nothing depends on
# the settings of whoever runs this.
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git init --quiet --template= --initial-branch=main
git add --all
git -c user.name=fetch.sh -c user.email=fetch@example.com -c commit.gpgsign=false \
  commit --quiet --no-verify --message "$module"
echo "$target: $module, commit $(git rev-parse --short HEAD)"
