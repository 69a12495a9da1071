#!/usr/bin/env bash
# The steps of action.yml, and of setup and merge beside this file:
#   run.sh prepare   decides what is installed: a hash of the source, if that has to be built
#   run.sh build     builds it, before the step that saves it in the workflow's cache
#   run.sh setup     installs millhand on PATH (setup/action.yml)
#   run.sh merge     merges reports (merge/action.yml)
#   run.sh           masks the key, installs millhand and executes it, which interprets the
#                    inputs (internal/app/action)
#
# With a version (the input, or else the tag of the action, or else version.txt of the
# source, which is X.Y.Z-dev except in the commit of a release) the binary is that of the release, which install.sh downloads
# from SERVER/REPOSITORY/releases/download/vVERSION and checks. Without a version, millhand
# is built from the source of this action.
set -euo pipefail

# Remove the key from the environment before starting other programs. millhand gets
# it on standard input, so that it is not in the environment of any process.
key=${INPUT_API_KEY:-}
unset INPUT_API_KEY

# escape escapes a text as the data of a workflow command.
escape() {
	local text=${1//'%'/%25}
	text=${text//$'\r'/%0D}
	printf '%s' "${text//$'\n'/%0A}"
}

if [[ $key == *[![:space:]]* ]]; then
	printf '::add-mask::%s\n' "$(escape "$key")"
fi

# give_up ends the step without millhand. Nothing was spent.
give_up() {
	printf '::error title=millhand::%s\n' "$(escape "$1")"
	printf 'conclusion=failure\noutcome=error\nexit-code=2\n' >>"${GITHUB_OUTPUT:-/dev/null}"
	exit 2
}

say() { printf 'millhand: %s\n' "$1"; }

# Why a build from source is one, and what would cost less.
unreleased="neither the input version, nor the action's tag, nor its commit is a release"
cheaper="A release is a download of some 15 MB: use a tag such as millhand/millhand@v1.2.3, or set the input version."

# attended runs a program and forwards signals of this script to it, which a shell
# that waits for a foreground program does not.
attended() {
	local code=0
	"$@" &
	child=$!
	wait "$child" || code=$?
	child=
	return "$code"
}
ended() {
	trap '' INT TERM
	kill -TERM "$child" 2>/dev/null || true
	wait || true
	printf 'conclusion=cancelled\noutcome=cancelled\nexit-code=%s\n' "$1" >>"${GITHUB_OUTPUT:-/dev/null}"
	exit "$1"
}
child=
trap 'ended 130' INT
trap 'ended 143' TERM

# download installs the released binary in a directory.
download() {
	local since=$SECONDS dir=$1 number=${version#v} server=${GITHUB_SERVER_URL:-https://github.com} provenance=${INPUT_PROVENANCE:-}
	if [[ ${provenance:-auto} == auto && $server != https://github.com ]]; then
		provenance=skip # a mirror has none
	fi
	attended sh "$root/install.sh" --dir "$dir" --version "$number" --provenance "${provenance:-auto}" \
		--base-url "$server/${ACTION_REPOSITORY:-millhand/millhand}/releases/download/v$number" >"$dir/install.log" 2>&1 ||
		give_up "installation of millhand $version failed: $(cat "$dir/install.log")"
	grep '^millhand: checksum' "$dir/install.log" || true
	say "downloaded and checked in $((SECONDS - since)) s"
}

# source_hash prints a hash of this source.
source_hash() {
	local tool=(shasum -a 256)
	! command -v sha256sum >/dev/null || tool=(sha256sum)
	find "$root" -path "$root/.git" -prune -o -type f -print0 | LC_ALL=C sort -z |
		xargs -0 "${tool[@]}" | sed "s|$root||" | "${tool[@]}" | cut -d ' ' -f 1
}

# build builds this source and installs the binary in a directory.
build() {
	command -v go >/dev/null || give_up "Go not found: set up Go before this step, or set the input version"
	say "compiling the action's source, because $unreleased, and the cache of this workflow has no build of it. It downloads some 220 MB of Go modules and needs minutes; later jobs use the cache. $cheaper"
	local since=$SECONDS
	cd "$root"
	attended env CGO_ENABLED=0 GOWORK=off GOFLAGS= GOTOOLCHAIN=auto go build -trimpath -o "$1/millhand" . || give_up "build of millhand failed"
	cd "$OLDPWD"
	say "compiled in $((SECONDS - since)) s"
}

# allow_namespaces enables level A for the millhand in a directory if AppArmor denies
# namespaces to programs without a profile, as on the hosted runners of Ubuntu 24.04:
# it loads a profile that allows them for this program. If that fails, or the reason is
# another, millhand confines commands at level B, or refuses them: this function never
# fails the step. The profile is named by its path, so that the next job of a runner
# replaces it.
allow_namespaces() {
	local dir profile
	dir=$(cd "$1" && pwd -P) || return 0
	case ${INPUT_SANDBOX:-} in
	off | external) return 0 ;;
	esac
	[[ $dir =~ ^[A-Za-z0-9/._-]+$ ]] || return 0 # other characters are special in a profile
	attended "$dir/millhand" doctor --sandbox require >/dev/null 2>&1 && return 0
	profile=$dir/millhand.apparmor
	printf 'abi <abi/4.0>,\n%s/millhand-*/millhand flags=(unconfined) {\n  userns,\n}\n' "$(dirname "$dir")" >"$profile" || return 0
	if attended sudo -n apparmor_parser --replace "$profile" >/dev/null 2>&1 && attended "$dir/millhand" doctor --sandbox require >/dev/null 2>&1; then
		echo "millhand: AppArmor profile loaded; commands are confined at level A"
	else
		echo "millhand: level A is not available; run 'millhand doctor' for the reason"
	fi
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
version=${INPUT_VERSION:-} from="the input version"
form='^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$'
if [ -z "$version" ] && [[ ${ACTION_REF:-} =~ $form ]]; then
	version=$ACTION_REF from="the action's tag"
fi
source_version=$(cat "$root/internal/command/version.txt")
if [ -z "$version" ] && [[ $source_version != *-dev ]]; then
	version=$source_version from="the version of the action's commit"
fi
temporary=${RUNNER_TEMP:-${TMPDIR:-/tmp}}

case ${1:-} in
prepare)
	[ -z "$version" ] || exit 0
	printf 'hash=%s\n' "$(source_hash)" >>"$GITHUB_OUTPUT"
	[ -n "$(go env GOTOOLCHAIN 2>/dev/null)" ] || echo "go=missing" >>"$GITHUB_OUTPUT"
	exit 0
	;;
build)
	mkdir -p "$temporary/millhand-source-$SOURCE_HASH"
	build "$temporary/millhand-source-$SOURCE_HASH"
	touch "$temporary/millhand-compiled-$SOURCE_HASH" # beside what is cached
	exit 0
	;;
esac

if [ -z "$version" ] && [ -n "${SOURCE_HASH:-}" ] && [ -x "$temporary/millhand-source-$SOURCE_HASH/millhand" ]; then
	dir=$temporary/millhand-source-$SOURCE_HASH
	if [ -e "$temporary/millhand-compiled-$SOURCE_HASH" ]; then
		say "using the build of the action's source ${SOURCE_HASH:0:12} that this job has compiled"
	else
		say "using the build of the action's source ${SOURCE_HASH:0:12} from the cache of this workflow, because $unreleased: nothing is compiled"
	fi
else
	dir=$(mktemp -d "$temporary/millhand-XXXXXX")
	if [ -z "$version" ]; then
		build "$dir"
	elif [[ $version =~ $form ]]; then
		say "using release ${version#v}, because of $from: a download of some 15 MB, nothing is compiled"
		download "$dir"
	else
		give_up "invalid input version: use the form 1.2.3"
	fi
fi

case ${1:-} in
setup)
	(cd "$dir" && pwd) >>"$GITHUB_PATH"
	exit 0
	;;
merge)
	merged=$INPUT_REPORT_DIR code=0
	shopt -s nullglob
	IFS=$'\n' read -r -d '' -a patterns <<<"$INPUT_REPORTS" || true
	reports=()
	for pattern in ${patterns[@]+"${patterns[@]}"}; do
		IFS= # a pattern may contain spaces
		# shellcheck disable=SC2206 # patterns are expanded
		reports+=($pattern)
	done
	[ ${#reports[@]} -gt 0 ] || give_up "input reports: no directory matches"
	"$dir/millhand" report merge --report-dir "$merged" -- "${reports[@]}" || code=$?
	conclusion=success
	[ "$code" = 0 ] || conclusion=failure
	printf 'conclusion=%s\nexit-code=%s\n' "$conclusion" "$code" >>"$GITHUB_OUTPUT"
	if [ -f "$merged/summary.md" ]; then
		printf 'report-dir=%s\n' "$(cd "$merged" && pwd)" >>"$GITHUB_OUTPUT"
		head -c 1000000 "$merged/summary.md" >>"$GITHUB_STEP_SUMMARY"
	fi
	exit "$code"
	;;
esac

allow_namespaces "$dir"

exec "$dir/millhand" github-action <<<"$key"
