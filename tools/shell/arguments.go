package shell

import (
	"slices"
	"strings"
)

// chmod's mode may look like an option: -x, -rw.
func (w *walker) chmod(c call) {
	args := c.args()
	mode := slices.IndexFunc(args, func(x word) bool {
		return x.literal() && strings.HasPrefix(x.text, "-") && len(x.text) > 1 && strings.Trim(x.text[1:], "rwxXstugoa,=+-01234567") == "" && x.text != "--"
	})
	d := program{use: allWrite, skip: 1, options: "--reference<", instead: "--reference"}
	if mode >= 0 {
		d.skip = 0
	}
	w.files(c, d, d.parse(args))
}

// link is ln. What a link leads to counts as read: it can be used by the
// link's name from then on. It is looked for in the link's directory.
func (w *walker) link(c call) {
	p := parseOptions("-S: -t> --backup* --no-dereference --no-target-directory --suffix: --target-directory>", c.args(), false)
	symbolic := p.has("-s --symbolic")
	w.files(c, program{}, p)
	n := len(p.operands)
	into := p.has("-t --target-directory")
	for i, x := range p.operands {
		target := into || i < n-1 || n == 1
		w.name(x, !target || !symbolic, "argument of ln")
		if dir, _, ok := cutLast(p.operands[n-1]); target && symbolic && n > 1 && !into && ok && !isRooted(x.text) {
			w.name(joined(dir, x), false, "argument of ln")
		}
	}
}

// cutLast splits a word at its last slash.
func cutLast(x word) (dir, base word, ok bool) {
	i := strings.LastIndexByte(x.text, '/')
	if i <= 0 {
		return word{}, x, false
	}
	return x.before(i), x.after(i + 1), true
}

// joined returns the path dir/x.
func joined(dir, x word) word {
	return word{text: dir.text + "/" + x.text, kinds: dir.kinds + string(quoted) + x.kinds, braced: true}
}

// dd names its files as if=F and of=F.
func (w *walker) dd(c call) {
	for _, x := range c.args() {
		name, file, ok := x.cut("=")
		switch {
		case ok && name.is("if"):
			w.name(file, false, "if= of dd")
		case ok && name.is("of"):
			w.name(file, true, "of= of dd")
		case x.expansion() == 0:
			w.unknownPath(x.text, true)
		}
	}
	if c.more {
		w.unknownPath(c.text, true)
	}
}

// patch changes the files that the patch names, or the one it is given.
func (w *walker) patch(c call) {
	d := program{use: oneWrite, options: "-B: -D: -d^ -F: -g: -i< -o> -p: -r> -V: -Y: -z: --directory^ --fuzz: --get: --ifdef: --input< --output> " +
		"--prefix: --quoting-style: --read-only: --reject-file> --reject-format: --strip: --suffix: --basename-prefix: --version-control:"}
	p := d.parse(c.args())
	if len(p.operands) == 0 {
		d.makes, d.names = ".", "--dry-run"
	} else {
		d.use = firstWrite
	}
	w.files(c, d, p)
}

// jq's first operand is its program; some options take two values.
func (w *walker) jq(c call) {
	var args []word
	for rest := c.args(); len(rest) > 0; rest = rest[1:] {
		n := 0
		switch rest[0].text {
		case "--arg", "--argjson":
			n = 2
		case "--slurpfile", "--rawfile", "--argfile":
			n = 2
			if len(rest) > 2 {
				w.name(rest[2], false, rest[0].text+" of jq")
			}
		case "--args", "--jsonargs":
			rest = rest[:1]
		}
		if n == 0 {
			args = append(args, rest[0])
		}
		rest = rest[min(n, len(rest)-1):]
	}
	d := program{use: allRead, skip: 1, options: "-f< -L< --from-file< --indent: --library-path<", instead: "-f --from-file"}
	w.files(c, d, d.parse(args))
}

// openssl's options are words with one dash.
func (w *walker) openssl(c call) {
	w.files(c, program{}, parseOptions("-in< -out> -keyout> -inkey< -CA< -CAfile< -CApath< -cert< -key< -certfile< -content< -config% -engine% "+
		"-provider% -rand< -writerand> -kfile< -sigfile< -signature< -sign< -verify< -passin: -passout: -pass: -subj: -days:", c.args(), false))
}

const curlOptions = "-A: -b: -c> -C: -d: -D> -e: -E< -F: -h: -H: -K% -m: -o> -P: -Q: -r: -t: -T< -u: -U: -w: -x: -X: -y: -Y: -z: " +
	"--alt-svc> --cacert< --capath< --cert< --config% --connect-timeout: --connect-to: --cookie: --cookie-jar> --create-dirs --data: --data-ascii: " +
	"--data-binary: --data-raw: --data-urlencode: --dump-header> --egd-file< --etag-compare< --etag-save> --form: --form-escape --form-string: " +
	"--header: --hsts> --interface: --json: --key< --libcurl> --limit-rate: --max-filesize: --max-redirs: --max-time: --netrc --netrc-file< --netrc-optional " +
	"--output> --output-dir> --pinnedpubkey: --preproxy: --proxy: --proxy-user: --pubkey< --range: --referer: --remote-name --remote-name-all " +
	"--remote-header-name --request: --request-target: --resolve: --retry: --retry-all-errors --retry-delay: --retry-max-time: --stderr> --time-cond: " +
	"--trace> --trace-ascii> --trace-time --unix-socket< --upload-file< --url: --url-query: --user: --user-agent: --variable: --write-out:"

// curl reads files named with an @ in what it sends, and by file: addresses.
func (w *walker) curl(c call) {
	d := program{options: curlOptions}
	p := d.parse(c.args())
	if p.has("-O --remote-name --remote-name-all") && !p.has("--output-dir") {
		d.makes = "."
	}
	w.files(c, d, p)
	addresses := p.operands
	for _, o := range p.options {
		switch o.name {
		case "-d", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-H", "--header", "-w", "--write-out",
			"--url-query", "--variable":
			w.curlData(o)
		case "-b", "--cookie":
			if !strings.Contains(o.value.text, "=") {
				w.name(o.value, false, o.name+" of curl")
			}
		case "--url":
			addresses = append(addresses, o.value)
		}
	}
	for _, x := range addresses {
		if len(x.text) > 5 && strings.EqualFold(x.text[:5], "file:") {
			path := strings.TrimLeft(x.text[5:], "/")
			w.access("/"+strings.TrimPrefix(path, "localhost/"), false, "argument of curl")
		}
	}
}

// curlData reports the file in @file, name=@file, name@file and name=<file.
func (w *walker) curlData(o option) {
	form := o.name == "-F" || o.name == "--form"
	_, file, ok := o.value.cut("@")
	if !ok && form {
		_, file, ok = o.value.cut("=<")
	}
	named := o.name == "--data-urlencode" || o.name == "--variable" || o.name == "--url-query" || form
	if !ok || !named && !o.value.starts("@") {
		return
	}
	file, _, _ = file.cut(";")
	if !file.is("-") {
		w.name(file, false, o.name+" of curl")
	}
}
