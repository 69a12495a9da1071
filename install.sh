#!/bin/sh
# Installs a release of millhand for this user: no root, no Go.
#
#   sh install.sh [--version X.Y.Z] [--dir DIR] [--base-url URL] [--provenance auto|require|skip]
#
# The archive's SHA-256 sum must be the one in checksums.txt of the release. If gh or cosign
# is installed, the signed provenance of the archive must also be that of the release
# workflow. The program is moved into DIR (default: ~/.local/bin) in one step at the end, so
# that a failure or a kill leaves what was there before.
set -eu

repository=millhand/millhand
workflow=$repository/.github/workflows/release.yml

usage() {
	cat <<'END'
Usage: sh install.sh [OPTION]...

  --version X.Y.Z      release to install (default: the latest)
  --dir DIR            directory for the program (default: ~/.local/bin)
  --base-url URL       directory with the files of the release, for a mirror
  --provenance MODE    auto: check it if gh or cosign is installed (default);
                       require: fail without one of them; skip: do not check it
END
}

say() { printf 'millhand: %s\n' "$*"; }

fail() {
	printf 'millhand: %s\nmillhand: nothing was installed or changed\n' "$*" >&2
	exit 1
}

misuse() {
	printf 'millhand: %s\n' "$1" >&2
	usage >&2
	exit 2
}

has() { command -v "$1" >/dev/null 2>&1; }

# platform prints the system and architecture of this machine, as in names of releases.
platform() {
	case $(uname -s) in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	MINGW* | MSYS* | CYGWIN*) fail "on Windows, run this in WSL" ;;
	*) fail "no release for $(uname -s): build it from source, see https://github.com/$repository" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) printf '%s_amd64' "$system" ;;
	aarch64 | arm64) printf '%s_arm64' "$system" ;;
	*) fail "no release for $system on $(uname -m): build it from source, see https://github.com/$repository" ;;
	esac
}

# attended runs a program in the background, so that a signal ends it immediately.
attended() {
	"$@" &
	child=$!
	code=0
	wait "$child" || code=$?
	child=
	return "$code"
}

# get URL FILE downloads a file. With curl, a redirection never leaves https.
get() {
	case $1 in
	https://*) protocol='=https' ;;
	*) protocol='=http,https' ;;
	esac
	if has curl; then
		attended curl -fsSL --proto-redir "$protocol" --retry 3 --connect-timeout 30 --max-time 600 -o "$2" "$1" </dev/null
	elif has wget; then
		attended wget -q -T 60 -O "$2" "$1" </dev/null
	else
		fail "curl or wget not found: install one of them"
	fi
}

download() {
	get "$1" "$2" || fail "download failed: $1"
}

sum() {
	if has sha256sum; then
		set -- "$(sha256sum <"$1")"
	else
		set -- "$(shasum -a 256 <"$1")"
	fi
	printf '%s' "${1%% *}"
}

# is_page reports whether a file is HTML, as proxies and captive portals send.
is_page() {
	first=
	while read -r first && [ -z "$first" ]; do :; done <"$1" 2>/dev/null
	case $first in
	'<'*) return 0 ;;
	*) return 1 ;;
	esac
}

# find_sum reads the version, if it was not given, and the sum of the archive from checksums.txt.
find_sum() {
	want=
	while read -r hash name rest; do
		name=${name#\*}
		case $name in
		millhand_*_"$platform".tar.gz) ;;
		*) continue ;;
		esac
		found=${name#millhand_}
		found=${found%_"$platform".tar.gz}
		[ -z "$version" ] || [ "$found" = "$version" ] || continue
		version=$found want=$hash
		break
	done <"$stage/checksums.txt"
	archive=millhand_${version}_$platform.tar.gz
	if [ -z "$want" ]; then
		! is_page "$stage/checksums.txt" || fail "$base/checksums.txt is a web page, not a list of checksums: is a proxy or a login page in between?"
		fail "no archive${version:+ of version $version} for $platform found in $base/checksums.txt"
	fi
	case $want$version in
	*[!0-9A-Za-z.+-]*) fail "invalid line of $archive in $base/checksums.txt" ;;
	esac
	[ "${#want}" = 64 ] || fail "invalid sum of $archive in $base/checksums.txt"
}

# verify_provenance checks that the release workflow of this repository built the archive.
verify_provenance() {
	[ "$provenance" != skip ] || return 0
	if has gh && gh attestation verify --help >/dev/null 2>&1; then
		tool=gh
	elif has cosign && cosign verify-blob-attestation --help >/dev/null 2>&1; then
		tool=cosign
	elif [ "$provenance" = require ]; then
		fail "provenance can't be checked: install gh or cosign"
	else
		say "checksum is correct; provenance not checked, because gh and cosign were not found"
		return 0
	fi
	hint="use --provenance skip to rely on the checksum alone"
	get "$base/provenance.sigstore.json" "$stage/provenance.sigstore.json" || fail "provenance not found: $base/provenance.sigstore.json; $hint"
	identity=https://github.com/$workflow@refs/tags/v$version
	if [ "$tool" = gh ]; then
		attended gh attestation verify "$stage/$archive" --repo "$repository" --cert-identity "$identity" \
			--bundle "$stage/provenance.sigstore.json" >"$stage/log" 2>&1
	else
		attended cosign verify-blob-attestation --bundle "$stage/provenance.sigstore.json" --new-bundle-format \
			--type slsaprovenance1 --certificate-oidc-issuer https://token.actions.githubusercontent.com \
			--certificate-identity "$identity" "$stage/$archive" >"$stage/log" 2>&1
	fi || {
		cat "$stage/log" >&2
		fail "$tool did not verify the provenance of $archive; $hint"
	}
	say "checksum and provenance are correct ($tool)"
}

# advise prints what makes the shell find the program.
advise() {
	case :${PATH:-}: in
	*:"$dir":*)
		where=$(command -v millhand || true)
		[ "$where" = "$dir/millhand" ] || say "another millhand is first on PATH: $where"
		say "next: millhand doctor"
		return 0
		;;
	esac
	case ${SHELL:-} in
	*/fish) line="fish_add_path '$dir'" file="the command line, once" ;;
	*/zsh) line="export PATH=\"$dir:\$PATH\"" file="~/.zshrc" ;;
	*/bash) line="export PATH=\"$dir:\$PATH\"" file="~/.bashrc" ;;
	*) line="export PATH=\"$dir:\$PATH\"" file="~/.profile" ;;
	esac
	say "$dir is not on PATH. Add this to $file, and run it in this shell:"
	printf '\n  %s\n\n' "$line"
	say "next: millhand doctor"
}

# create creates the directory, and remembers its first parent that did not exist.
create() {
	at=$dir
	while [ ! -e "$at" ]; do
		created=$at
		at=$(dirname "$at")
	done
	mkdir -p "$dir" || fail "can't create $dir: use --dir with a directory that you can write"
	dir=$(cd "$dir" && pwd) || fail "can't enter $dir"
	[ ! -d "$dir/millhand" ] || fail "$dir/millhand is a directory: remove it, or use --dir"
	# An installation that was killed left its directory, which has its process id.
	for left in "$dir"/.millhand-install.*; do
		pid=${left##*.}
		if [ "$pid" = "$$" ] || ! kill -0 "$pid" 2>/dev/null; then
			rm -rf "$left"
		fi
	done
	mkdir "$dir/.millhand-install.$$" || fail "can't write to $dir: use --dir with a directory that you can write"
	stage=$dir/.millhand-install.$$
}

# cleanup leaves what was there before, or the program.
cleanup() {
	[ -z "$child" ] || kill "$child" 2>/dev/null || true
	[ -z "$stage" ] || rm -rf "$stage"
	[ -n "$created" ] || return 0
	at=$dir
	while rmdir "$at" 2>/dev/null && [ "$at" != "$created" ]; do
		at=$(dirname "$at")
	done
}

main() {
	version='' dir='' base='' provenance=auto stage='' created='' child=''
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help)
			usage
			exit 0
			;;
		--version | --dir | --base-url | --provenance)
			[ $# -gt 1 ] && [ -n "$2" ] || misuse "$1 requires a value"
			case $1 in
			--version) version=${2#v} ;;
			--dir) dir=$2 ;;
			--base-url) base=${2%/} ;;
			--provenance) provenance=$2 ;;
			esac
			shift 2
			;;
		*) misuse "unknown option $1" ;;
		esac
	done
	case $version in
	*[!0-9A-Za-z.+-]*) misuse "invalid version $version: use the form 1.2.3" ;;
	esac
	case $provenance in
	auto | require | skip) ;;
	*) misuse "invalid mode of --provenance $provenance: use auto, require or skip" ;;
	esac
	if [ -z "$dir" ]; then
		[ -n "${HOME:-}" ] || misuse "HOME is not set: use --dir"
		dir=$HOME/.local/bin
	fi
	platform=$(platform) || exit 1
	for program in tar gzip; do
		has "$program" || fail "$program not found: install it"
	done
	has sha256sum || has shasum || fail "sha256sum or shasum not found: install coreutils"
	case $dir in
	/*) ;;
	*) dir=$PWD/$dir ;;
	esac

	releases=https://github.com/$repository/releases
	if [ -n "$base" ]; then
		latest=$base
	elif [ -n "$version" ]; then
		base=$releases/download/v$version latest=$base
	else
		latest=$releases/latest/download
	fi

	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	create

	base=${base:-$latest}
	download "$latest/checksums.txt" "$stage/checksums.txt"
	find_sum
	# The latest release may change in between: continue with the one that was found.
	[ "$base" != "$releases/latest/download" ] || base=$releases/download/v$version
	say "installing $archive"
	download "$base/$archive" "$stage/$archive"
	if [ "$(sum "$stage/$archive")" != "$want" ]; then
		! is_page "$stage/$archive" || fail "$base/$archive is a web page, not an archive: is a proxy or a login page in between?"
		fail "checksum mismatch of $archive: the download is incomplete or was changed"
	fi
	verify_provenance
	tar -xzof "$stage/$archive" -C "$stage" millhand 2>/dev/null || fail "millhand not found in $archive"
	chmod 755 "$stage/millhand"
	built=$("$stage/millhand" version 2>&1) || fail "the program does not run on this machine: $built"
	mv -f "$stage/millhand" "$dir/millhand" || fail "can't write $dir/millhand"
	say "installed $dir/millhand: ${built#millhand }"
	advise
}

main "$@"
