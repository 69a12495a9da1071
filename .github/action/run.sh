#!/usr/bin/env bash
# The last step of action.yml: hides the key, gets millhand, becomes it. What
# inputs mean is millhand's part (internal/action); here they are words.
#
# With a version (the input, or else the tag that the action is used at) the
# binary is that of the release, as goreleaser names it, from
#   SERVER/REPOSITORY/releases/download/vVERSION/millhand_VERSION_OS_ARCH.tar.gz
# and it must have the SHA-256 sum that checksums.txt of the release says. That
# finds a broken download, not a forged release. Without one, millhand is built
# from the source that this file is a part of.
set -euo pipefail

# The key leaves the environment before anything else is started. millhand gets
# it on standard input, so that no process has it where others can read it.
key=${INPUT_API_KEY:-}
unset INPUT_API_KEY

# escape makes a text the data of a workflow command.
escape() {
	local text=${1//'%'/%25}
	text=${text//$'\r'/%0D}
	printf '%s' "${text//$'\n'/%0A}"
}

if [[ $key == *[![:space:]]* ]]; then
	printf '::add-mask::%s\n' "$(escape "$key")"
fi

# give_up ends the step when there is no millhand to do it. Nothing was spent.
give_up() {
	printf '::error title=millhand::%s\n' "$(escape "$1")"
	printf 'conclusion=failure\noutcome=error\nexit-code=2\n' >>"${GITHUB_OUTPUT:-/dev/null}"
	exit 2
}

# attended runs a program so that a signal to this script ends it, too. A shell
# that only waits for a program passes no signal on.
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

# platform prints this machine's system and processor, as releases name them.
platform() {
	local system machine
	case ${RUNNER_OS:-$(uname -s)} in
	Linux) system=linux ;;
	macOS | Darwin) system=darwin ;;
	*) return 1 ;;
	esac
	case ${RUNNER_ARCH:-$(uname -m)} in
	X64 | x86_64) machine=amd64 ;;
	ARM64 | aarch64 | arm64) machine=arm64 ;;
	*) return 1 ;;
	esac
	printf '%s_%s' "$system" "$machine"
}

sum() {
	if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

fetch() {
	attended curl --fail --silent --show-error --location --proto-redir '=https' \
		--retry 3 --connect-timeout 30 --max-time 600 --output "$2" "$1" || give_up "millhand $version could not be fetched: $1"
}

# download puts the released binary into a folder.
download() {
	local dir=$1 number=${version#v} here archive releases want
	here=$(platform) || give_up "there is no released millhand for this machine: leave the input version out, and it is built"
	archive=millhand_${number}_$here.tar.gz
	releases=${GITHUB_SERVER_URL:-https://github.com}/${ACTION_REPOSITORY:-millhand/millhand}/releases/download/v$number
	fetch "$releases/checksums.txt" "$dir/checksums.txt"
	fetch "$releases/$archive" "$dir/$archive"
	want=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1; exit }' "$dir/checksums.txt")
	[[ $want =~ ^[0-9a-f]{64}$ ]] || give_up "checksums.txt of millhand $version does not name $archive"
	[ "$(sum "$dir/$archive")" = "$want" ] || give_up "$archive does not have the checksum that the release says: it is not used"
	tar -xzf "$dir/$archive" -C "$dir" millhand || give_up "$archive holds no millhand"
}

# build puts a binary of this source into a folder.
build() {
	command -v go >/dev/null || give_up "there is no Go to build millhand with: set one up before, or give the input version"
	cd "$(dirname "${BASH_SOURCE[0]}")/../.."
	attended env CGO_ENABLED=0 GOWORK=off GOFLAGS= GOTOOLCHAIN=auto go build -trimpath -o "$1/millhand" . || give_up "millhand could not be built"
	cd "$OLDPWD"
}

# allow_namespaces lets the millhand in a folder confine commands at level A where
# AppArmor keeps namespaces from programs without a profile, as on the hosted
# runners of Ubuntu 24.04: it loads one that allows them to this program, and
# changes nothing else. Where it may not or can't, and wherever the reason is
# another, commands are confined at level B, or refused, by millhand itself: this
# never ends the step. The profile is named by its path, so that the next job of
# a runner replaces it.
allow_namespaces() {
	local dir profile
	dir=$(cd "$1" && pwd -P) || return 0
	case ${INPUT_SANDBOX:-} in
	off | external) return 0 ;;
	esac
	[[ $dir =~ ^[A-Za-z0-9/._-]+$ ]] || return 0 # other characters mean something in a profile
	attended "$dir/millhand" doctor --sandbox require >/dev/null 2>&1 && return 0
	profile=$dir/millhand.apparmor
	printf 'abi <abi/4.0>,\n%s/millhand-*/millhand flags=(unconfined) {\n  userns,\n}\n' "$(dirname "$dir")" >"$profile" || return 0
	if attended sudo -n apparmor_parser --replace "$profile" >/dev/null 2>&1 && attended "$dir/millhand" doctor --sandbox require >/dev/null 2>&1; then
		echo "millhand: AppArmor allows it namespaces now; commands are confined at level A"
	else
		echo "millhand: commands can't be confined at level A here; for the reason run: millhand doctor"
	fi
}

version=${INPUT_VERSION:-}
form='^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$'
if [ -z "$version" ] && [[ ${ACTION_REF:-} =~ $form ]]; then
	version=$ACTION_REF
fi
dir=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/millhand-XXXXXX")
if [ -z "$version" ]; then
	build "$dir"
elif [[ $version =~ $form ]]; then
	download "$dir"
else
	give_up "the input version is no version: write it as 1.2.3"
fi
allow_namespaces "$dir"

exec "$dir/millhand" github-action <<<"$key"
