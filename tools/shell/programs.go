package shell

import (
	"fmt"
	"maps"
	"strings"
)

// programs describes the programs that work on files.
func programs() map[string]program {
	all := map[string]program{}
	for _, group := range []map[string]program{readers(), searchers(), filters(), changers(), archivers(), transfers(), others()} {
		maps.Copy(all, group)
	}
	return all
}

// readers only read their operands.
func readers() map[string]program {
	all := map[string]program{
		"base32":   {use: allRead, options: "-w: --wrap:"},
		"base64":   {use: allRead, options: "-w: --wrap:"},
		"cmp":      {use: allRead, options: "-i: -n: --bytes: --ignore-initial:"},
		"column":   {use: allRead, options: "-c: -o: -s: --output-separator: --output-width: --separator:"},
		"cut":      {use: allRead, options: "-b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --output-delimiter:"},
		"diff":     {use: allRead, options: diffOptions},
		"diff3":    {use: allRead, options: "-L: --diff-program! --label:"},
		"dir":      {use: allRead, options: lsOptions},
		"du":       {use: allRead, options: "-B: -d: -t: -X< --block-size: --exclude: --exclude-from< --files0-from# --max-depth: --threshold: --time* --time-style:"},
		"expand":   {use: allRead, options: "-t: --tabs:"},
		"fmt":      {use: allRead, options: "-g: -p: -w: --goal: --prefix: --width:"},
		"fold":     {use: allRead, options: "-w: --width:"},
		"head":     {use: allRead, options: "-c: -n: --bytes: --lines:"},
		"hd":       {use: allRead, options: "-e: -f< -n: -s:"},
		"hexdump":  {use: allRead, options: "-e: -f< -n: -s:"},
		"join":     {use: allRead, options: "-1: -2: -a: -e: -j: -o: -t: -v:"},
		"ls":       {use: allRead, options: lsOptions},
		"nl":       {use: allRead, options: "-b: -d: -f: -h: -i: -l: -n: -s: -v: -w:"},
		"od":       {use: allRead, options: "-A: -j: -N: -S: -t: -w* --address-radix: --format: --read-bytes: --skip-bytes: --strings* --width*"},
		"paste":    {use: allRead, options: "-d: --delimiters:"},
		"pr":       {use: allRead, options: "-D: -e* -h: -i* -l: -n* -N: -o: -s* -S* -w: -W: --date-format: --header: --indent: --length: --page-width: --width:"},
		"sdiff":    {use: allRead, options: "-I: -o> -w: --diff-program! --ignore-matching-lines: --output> --width:"},
		"stat":     {use: allRead, options: "-c: --format: --printf:"},
		"strings":  {use: allRead, options: "-e: -n: -s: -t: -T: --bytes: --encoding: --output-separator: --radix:"},
		"tail":     {use: allRead, options: "-c: -n: -s: --bytes: --lines: --pid: --sleep-interval:"},
		"unexpand": {use: allRead, options: "-t: --tabs:"},
		"vdir":     {use: allRead, options: lsOptions},
		"wc":       {use: allRead, options: "--files0-from# --total:"},
	}
	const plain = "b2sum bat batcat bzcat cat cksum comm eza hexyl md5sum more readlink realpath rev sha1sum sha224sum " +
		"sha256sum sha384sum sha512sum sum tac tsort xzcat zcat zcmp zdiff zless zmore zstdcat"
	for name := range strings.FieldsSeq(plain) {
		all[name] = program{use: allRead}
	}
	return all
}

const (
	lsOptions = "-I: -T: -w: --block-size: --color* --format: --hide: --ignore: --indicator-style: --quoting-style: --sort: --tabsize: --time: " +
		"--time-style: --width:"
	diffOptions = "-C: -D: -F: -I: -L: -S: -U: -W: -x: -X< --color* --context* --exclude: --exclude-from< --from-file< --horizon-lines: --ifdef: " +
		"--ignore-matching-lines: --label: --palette: --show-function-line: --starting-file: --tabsize: --to-file< --unified* --width:"
	grepOptions = "-A: -B: -C: -d: -D: -e: -f< -m: --after-context: --before-context: --binary-files: --color* --colour* --context: --devices: " +
		"--directories: --exclude: --exclude-dir: --exclude-from< --file< --group-separator: --include: --label: --max-count: --regexp:"
	rgOptions = "-A: -B: -C: -d: -e: -E: -f< -g: -j: -m: -M: -r: -t: -T: --after-context: --before-context: --color: --colors: --context: " +
		"--context-separator: --dfa-size-limit: --encoding: --engine: --field-context-separator: --field-match-separator: --file< --files " +
		"--files-with-matches --files-without-match --generate: --glob: --glob-case-insensitive --hostname-bin! --hyperlink-format: --iglob: --ignore-case " +
		"--ignore-file< --ignore-file-case-insensitive --max-columns: --max-columns-preview --max-count: --max-depth: --max-filesize: " +
		"--path-separator: --pre! --pre-glob: --regex-size-limit: --regexp: --replace: --sort: --sortr: --threads: --type: --type-add: " +
		"--type-clear: --type-list --type-not:"
)

// searchers look for text or for files.
func searchers() map[string]program {
	grep := program{use: allRead, skip: 1, options: grepOptions, instead: "-e -f --file --regexp"}
	return map[string]program{
		"egrep": grep, "fgrep": grep, "grep": grep, "ugrep": grep, "zegrep": grep, "zfgrep": grep, "zgrep": grep,
		"ack":    {use: allRead, skip: 1, options: "-A: -B: -C: -m: --ackrc% --ignore-dir: --pager! --type:", instead: "-f -g"},
		"ag":     {use: allRead, skip: 1, options: "-A: -B: -C: -G: -m: -p< --depth: --ignore: --pager! --path-to-ignore<", instead: "-g"},
		"fd":     {special: (*walker).fd},
		"fdfind": {special: (*walker).fd},
		"file": {
			use: allRead, options: "-e: -f# -F: -m< -P: --exclude: --exclude-quiet: --files-from# --magic-file< --parameter: --separator:",
			changes: "-C --compile",
		},
		"find": {special: (*walker).findFiles},
		"rg":   {use: allRead, skip: 1, options: rgOptions, instead: "-e -f --file --files --regexp --type-list"},
		"tree": {use: allRead, options: "-H: -I: -L: -o> -P: --charset: --filelimit: --gitfile< --infofile< --sort: --timefmt:", changes: "-R"},
	}
}

// filters read their operands, but can be told to write or to run something.
func filters() map[string]program {
	return map[string]program{
		"awk": {special: (*walker).awk}, "gawk": {special: (*walker).awk}, "mawk": {special: (*walker).awk}, "nawk": {special: (*walker).awk},
		"csplit":  {use: onlyRead, options: "-b: -f> -n: --digits: --prefix> --suffix-format:", makes: "."},
		"gsed":    {special: (*walker).sed},
		"iconv":   {use: allRead, options: "-f: -o> -t: --from-code: --output> --to-code:"},
		"jq":      {special: (*walker).jq},
		"less":    {use: allRead, options: "-b: -D: -h: -j: -k% -o> -O> -p: -P: -t: -T< -x: -y: -z: --lesskey-file% --lesskey-src% --log-file> --LOG-FILE> --pattern: --tag: --tag-file<"},
		"man":     {options: "-C% -H! -l< -M< -P! --config-file% --html* --local-file< --pager!"},
		"openssl": {special: (*walker).openssl},
		"sed":     {special: (*walker).sed},
		"shuf":    {use: allRead, options: "-i: -n: -o> --head-count: --input-range: --output> --random-source<"},
		"sort":    {use: allRead, options: sortOptions},
		"split": {use: oneWrite, options: "-a: -b: -C: -l: -n: -t: --additional-suffix: --bytes: --filter! " +
			"--hex-suffixes* --line-bytes: --lines: --number: --numeric-suffixes* --separator: --suffix-length:", makes: "."},
		"uniq":    {use: oneWrite, options: "-f: -s: -w: --check-chars: --skip-chars: --skip-fields:"},
		"xmllint": {use: allRead, options: "--encode: --output> --path: --pattern: --relaxng< --schema< --shell? --xpath:"},
		"xxd":     {use: oneWrite, options: "-c: -g: -l: -n: -o: -R: -s: -cols: -groupsize: -len: -name: -offset: -seek:"},
		"yq":      {use: allRead, skip: 1, options: "-I: -o: -p: -s% --from-file< --indent: --input-format: --output-format: --split-exp%", changes: "-i -y --inplace", instead: "--from-file"},
	}
}

const sortOptions = "-k: -o> -S: -t: -T> --batch-size: --buffer-size: --compress-program! --field-separator: --files0-from# --key: --output> " +
	"--parallel: --random-sort --random-source< --reverse --sort: --temporary-directory>"

// changers make, change or remove what their operands name.
func changers() map[string]program {
	owner := program{use: allWrite, skip: 1, options: "--from: --reference<", instead: "--reference"}
	return map[string]program{
		"chgrp": owner, "chown": owner,
		"chmod": {special: (*walker).chmod},
		"cp": {use: lastWrite, options: "-S: -t> --backup* --context* --no-clobber --no-dereference --no-preserve: --no-target-directory " +
			"--preserve* --reflink* --sparse: --strip-trailing-slashes --suffix: --target-directory> --update*"},
		"dd": {special: (*walker).dd},
		"install": {use: lastWrite, options: "-g: -m: -o: -S: -t> --backup* --context* --group: --mode: --owner: --strip --strip-program! " +
			"--suffix: --target-directory>", changes: "-d --directory"},
		"ln":     {special: (*walker).link},
		"mkdir":  {use: allWrite, options: "-m: --context* --mode:"},
		"mkfifo": {use: allWrite, options: "-m: --context* --mode:"},
		"mknod":  {use: onlyWrite, options: "-m: --context* --mode:"},
		"mktemp": {use: allWrite, options: "-p> --suffix: --tmpdir*"},
		"mv": {use: allWrite, options: "-S: -t> --backup* --context --no-clobber --no-copy --no-target-directory --strip-trailing-slashes --suffix: " +
			"--target-directory> --update*"},
		"nano":     {use: allWrite},
		"patch":    {special: (*walker).patch},
		"rename":   {use: allWrite, skip: 1},
		"rm":       {use: allWrite, options: "--interactive* --no-preserve-root --preserve-root*"},
		"rmdir":    {use: allWrite},
		"shred":    {use: allWrite, options: "-n: -s: --iterations: --random-source< --remove* --size:"},
		"tee":      {use: allWrite, options: "--output-error*"},
		"touch":    {use: allWrite, options: "-d: -r< -t: --date: --reference< --time:"},
		"truncate": {use: allWrite, options: "-r< -s: --reference< --size:"},
		"unlink":   {use: allWrite},
	}
}

// archivers pack and unpack.
func archivers() map[string]program {
	all := map[string]program{
		"7z":    {use: allWrite, skip: 1, options: "-o> -p*", makes: "."},
		"ar":    {use: firstWrite, skip: 1},
		"cpio":  {use: allRead, options: "-D^ -E< -F> -I< -O> -R: --directory^ --file> --pattern-file< --rsh-command!", makes: ".", names: "-o -t --create --list"},
		"lz4":   {use: allWrite},
		"unzip": {use: onlyRead, options: "-d> -P: -x*", makes: ".", names: "-d -l -p -t -v -Z"},
		"zip":   {use: firstWrite, options: "-b> -i* -n: -O> -P: -t: -TT! -x* --output-file> --unzip-command!", changes: "-m --move"},
		"zstd": {
			use: allWrite, options: "-D< -M: -o> -T: --output-dir-flat> --output-dir-mirror>",
			spares: "-c -l -t --list --stdout --test",
		},
	}
	for _, name := range []string{"tar", "bsdtar", "gtar"} {
		all[name] = program{special: (*walker).tar}
	}
	for _, name := range []string{"bunzip2", "bzip2", "compress", "gunzip", "gzip", "lzma", "pigz", "uncompress", "unlzma", "unxz", "xz"} {
		all[name] = program{use: allWrite, options: "-F: -S: -T: --files# --files0# --suffix: --threads:", spares: "-c -l -t --list --stdout --test --to-stdout"}
	}
	return all
}

// transfers copy files from and to other machines.
func transfers() map[string]program {
	return map[string]program{
		"aria2c": {options: "-d> -i< -l> -o> --conf-path% --dir> --input-file< --log> --on-download-complete! --out>", makes: ".", names: "-d --dir"},
		"curl":   {special: (*walker).curl},
		"rsync": {use: lastWrite, hosts: true, options: "-@: -B: -e! -f: -M% -T> --address: --backup-dir> --block-size: --bwlimit: --chmod: --chown: " +
			"--compare-dest< --config% --contimeout: --copy-dest< --daemon? --debug: --early-input< --exclude: --exclude-from< --files-from# --filter: " +
			"--include: --include-from< --info: --link-dest< --log-file> --log-file-format: --max-size: --min-size: --modify-window: " +
			"--only-write-batch> --out-format: --partial-dir> --password-file< --port: --read-batch< --remote-option% --rsh! --rsync-path! --suffix: " +
			"--temp-dir> --timeout: --write-batch>", changes: "--remove-sent-files --remove-source-files"},
		"scp":  {use: lastWrite, hosts: true, options: "-c: -D: -F% -i< -J: -l: -o% -P: -S! -X:"},
		"sftp": {unknowable: true},
		"wget": {
			options: "-a> -A: -B: -D: -e% -i< -I: -l: -o> -O> -P> -Q: -R: -t: -T: -U: -w: -X: --append-output> --body-data: --body-file< " +
				"--ca-certificate< --ca-directory< --certificate< --config% --directory-prefix> --execute% --header: --hsts-file> --input-file< " +
				"--level: --load-cookies< --method: --output-document> --output-file> --password: --post-data: --post-file< --private-key< --referer: " +
				"--rejected-log> --save-cookies> --timeout: --tries: --use-askpass! --user: --user-agent: --wait: --warc-file>",
			makes: ".", names: "-O -P --directory-prefix --output-document --spider",
		},
	}
}

// others are programs of which more can't be said than that they can run
// anything, or that an option can.
func others() map[string]program {
	all := map[string]program{
		"nc": {options: "-c! -e! -i: -I: -O: -p: -q: -s: -T: -V: -w: -x: -X:"},
		"go": {special: (*walker).golang}, "make": {special: (*walker).make}, "gmake": {special: (*walker).make},
		"ncat": {options: "-c! -e! -i: -o> -p: -s: -w: -x> --exec! --hex-dump> --lua-exec% --output> --sh-exec!"},
	}
	all["netcat"] = all["nc"]
	for _, name := range []string{"python", "python2", "python3", "pypy", "pypy3"} {
		all[name] = program{special: (*walker).python}
	}
	for minor := 8; minor < 20; minor++ {
		all[fmt.Sprintf("python3.%d", minor)] = all["python"]
	}
	const languages = "at batch capsh crontab expect m4 run-parts screen setpriv socat start-stop-daemon tmux"
	for name := range strings.FieldsSeq(languages) {
		all[name] = program{unknowable: true}
	}
	for _, name := range []string{"ed", "emacs", "ex", "nvim", "vi", "view", "vim"} {
		all[name] = program{use: allWrite, unknowable: true}
	}
	return all
}
