#!/usr/bin/env bash
# The step of action.yml: builds millhand from the action's own source and runs
# the manifest. Everything comes in by environment variables.
set -euo pipefail

bin=$(mktemp -d)/millhand
(cd "$ACTION_PATH" && CGO_ENABLED=0 go build -trimpath -o "$bin" .)

if [ -n "${INPUT_API_KEY:-}" ]; then
	echo "::add-mask::$INPUT_API_KEY"
	export OPENAI_API_KEY="$INPUT_API_KEY"
fi
unset INPUT_API_KEY
for name in MILLHAND_MODEL MILLHAND_PROFILE MILLHAND_MAX_COST MILLHAND_MAX_TIME; do
	[ -n "${!name:-}" ] || unset "$name"
done

code=0
"$bin" run --report-dir "$INPUT_REPORT_DIR" -- "$INPUT_MANIFEST" &
child=$!
trap 'kill -INT "$child"' INT
trap 'kill -TERM "$child"' TERM
wait "$child" || code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child" || code=$?; done

report=$(cd "$INPUT_REPORT_DIR" 2>/dev/null && pwd || true)
{
	echo "exit-code=$code"
	delimiter=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	printf 'report-dir<<%s\n%s\n%s\n' "$delimiter" "$report" "$delimiter"
} >>"$GITHUB_OUTPUT"
if [ -n "$report" ] && [ -f "$report/summary.md" ]; then
	head -c 900000 "$report/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
