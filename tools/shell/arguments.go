package shell

import (
	"slices"
	"strings"
)

// parseChmod reads a mode that may look like an option: -x, -rw.
func parseChmod(w *walker, c call, d program) {
	args := c.args()
	mode := slices.IndexFunc(args, func(x word) bool {
		return x.literal() && strings.HasPrefix(x.text, "-") && len(x.text) > 1 && strings.Trim(x.text[1:], "rwxXstugoa,=+-01234567") == "" && x.text != "--"
	})
	if mode >= 0 {
		d.skip = 0
	}
	programFiles(w, c, d, d.parse(args))
}

// parseLn counts the target of a symlink or hard link as read: it can be used by
// the new name from then on. A relative target is resolved in the directory of
// the new name.
func parseLn(w *walker, c call, d program) {
	p := parseOptions(d.options, c.args(), false)
	symbolic := p.has("-s --symbolic")
	programFiles(w, c, program{}, p)
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

// parseDD reads file names from if=F and of=F.
func parseDD(w *walker, c call, _ program) {
	for _, x := range c.args() {
		name, file, ok := x.cut("=")
		switch {
		case ok && name.is("if"):
			w.name(file, false, "if= of dd")
		case ok && name.is("of"):
			w.name(file, true, "of= of dd")
		case x.expansion() == 0:
			w.result.unknownPath(x.text, true)
		}
	}
	if c.more {
		w.result.unknownPath(c.text, true)
	}
}

// parsePatch reports the file that is patched, or else the current directory,
// as the patch names the files.
func parsePatch(w *walker, c call, d program) {
	p := d.parse(c.args())
	if len(p.operands) == 0 {
		d.makes, d.names = ".", "--dry-run"
	} else {
		d.use = firstWrite
	}
	programFiles(w, c, d, p)
}

// parseJq skips the program, the first operand, and options with two values.
func parseJq(w *walker, c call, d program) {
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
	programFiles(w, c, d, d.parse(args))
}

// parseOpenSSL reads options that are words with one dash.
func parseOpenSSL(w *walker, c call, d program) {
	programFiles(w, c, program{}, parseOptions(d.options, c.args(), false))
}

// parseCurl also reports files named by @FILE in data and by file: URLs.
func parseCurl(w *walker, c call, d program) {
	p := d.parse(c.args())
	if p.has("-O --remote-name --remote-name-all") && !p.has("--output-dir") {
		d.makes = "."
	}
	programFiles(w, c, d, p)
	addresses := p.operands
	for _, o := range p.options {
		switch o.name {
		case "-d", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-H", "--header", "-w", "--write-out",
			"--url-query", "--variable":
			curlData(w, o)
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
func curlData(w *walker, o option) {
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
