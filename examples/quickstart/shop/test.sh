#!/usr/bin/env bash
# Runs the tests in tests/ and fails if one fails.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
source ./invoice.sh

checks=0 failed=0
# check NAME GOT WANT
check() {
	checks=$((checks + 1))
	[ "$2" != "$3" ] || return 0
	failed=$((failed + 1))
	echo "not ok $test: $1 is $2, want $3"
}

for test in tests/*.sh; do
	before=$failed
	source "$test"
	[ "$failed" != "$before" ] || echo "ok $test"
done
echo "$failed of $checks checks failed"
[ "$failed" = 0 ]
