package program

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseChmod reads a mode that may look like an option: -x, -rw.
func parseChmod(e *effect.List, c effect.Call, d program) {
	args := c.Args()
	mode := slices.IndexFunc(args, func(x word.Word) bool {
		return x.Literal() && strings.HasPrefix(x.Text, "-") && len(x.Text) > 1 && strings.Trim(x.Text[1:], "rwxXstugoa,=+-01234567") == "" && x.Text != "--"
	})
	if mode >= 0 {
		d.skip = 0
	}
	programFiles(e, c, d, d.parse(args))
}

// parseLn counts the target of a symlink or hard link as read: it can be used by
// the new name from then on. A relative target is resolved in the directory of
// the new name.
func parseLn(e *effect.List, c effect.Call, d program) {
	p := word.ParseOptions(d.options, c.Args(), false)
	symbolic := p.Has("-s --symbolic")
	programFiles(e, c, program{}, p)
	n := len(p.Operands)
	into := p.Has("-t --target-directory")
	for i, x := range p.Operands {
		target := into || i < n-1 || n == 1
		e.Use(x, !target || !symbolic, "argument of ln")
		if dir, _, ok := cutLast(p.Operands[n-1]); target && symbolic && n > 1 && !into && ok && !word.IsRooted(x.Text) {
			e.Use(joined(dir, x), false, "argument of ln")
		}
	}
}

// cutLast splits a word at its last slash.
func cutLast(x word.Word) (dir, base word.Word, ok bool) {
	i := strings.LastIndexByte(x.Text, '/')
	if i <= 0 {
		return word.Word{}, x, false
	}
	return x.Before(i), x.After(i + 1), true
}

// joined returns the path dir/x.
func joined(dir, x word.Word) word.Word {
	return word.Word{Text: dir.Text + "/" + x.Text, Kinds: dir.Kinds + string(word.Quoted) + x.Kinds, Braced: true}
}

// parseDD reads file names from if=F and of=F.
func parseDD(e *effect.List, c effect.Call, _ program) {
	for _, x := range c.Args() {
		name, file, ok := x.Cut("=")
		switch {
		case ok && name.Is("if"):
			e.Use(file, false, "if= of dd")
		case ok && name.Is("of"):
			e.Use(file, true, "of= of dd")
		case x.Expansion() == 0:
			e.UnknownPath(x.Text, true)
		}
	}
	if c.More {
		e.UnknownPath("", true)
	}
}

// parsePatch reports the file that is patched, or else the current directory,
// as the patch names the files.
func parsePatch(e *effect.List, c effect.Call, d program) {
	p := d.parse(c.Args())
	if len(p.Operands) == 0 {
		d.makes, d.names = ".", "--dry-run"
	} else {
		d.use = firstWrite
	}
	programFiles(e, c, d, p)
}

// parseJq skips the program, the first operand, and options with two values.
func parseJq(e *effect.List, c effect.Call, d program) {
	var args []word.Word
	for rest := c.Args(); len(rest) > 0; rest = rest[1:] {
		n := 0
		switch rest[0].Text {
		case "--arg", "--argjson":
			n = 2
		case "--slurpfile", "--rawfile", "--argfile":
			n = 2
			if len(rest) > 2 {
				e.Use(rest[2], false, rest[0].Text+" of jq")
			}
		case "--args", "--jsonargs":
			rest = rest[:1]
		}
		if n == 0 {
			args = append(args, rest[0])
		}
		rest = rest[min(n, len(rest)-1):]
	}
	programFiles(e, c, d, d.parse(args))
}

// parseOpenSSL reads options that are words with one dash.
func parseOpenSSL(e *effect.List, c effect.Call, d program) {
	programFiles(e, c, program{}, word.ParseOptions(d.options, c.Args(), false))
}

// parseCurl also reports files named by @FILE in data and by file: URLs.
func parseCurl(e *effect.List, c effect.Call, d program) {
	p := d.parse(c.Args())
	if p.Has("-O --remote-name --remote-name-all") && !p.Has("--output-dir") {
		d.makes = "."
	}
	programFiles(e, c, d, p)
	addresses := p.Operands
	for _, o := range p.Options {
		switch o.Name {
		case "-d", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "--json", "-F", "--form", "-H", "--header", "-w", "--write-out",
			"--url-query", "--variable":
			curlData(e, o)
		case "-b", "--cookie":
			if !strings.Contains(o.Value.Text, "=") {
				e.Use(o.Value, false, o.Name+" of curl")
			}
		case "--url":
			addresses = append(addresses, o.Value)
		}
	}
	for _, x := range addresses {
		if len(x.Text) > 5 && strings.EqualFold(x.Text[:5], "file:") {
			path := strings.TrimLeft(x.Text[5:], "/")
			e.UsePath("/"+strings.TrimPrefix(path, "localhost/"), false, "argument of curl")
		}
	}
}

// curlData reports the file in @file, name=@file, name@file and name=<file.
func curlData(e *effect.List, o word.Option) {
	form := o.Name == "-F" || o.Name == "--form"
	_, file, ok := o.Value.Cut("@")
	if !ok && form {
		_, file, ok = o.Value.Cut("=<")
	}
	named := o.Name == "--data-urlencode" || o.Name == "--variable" || o.Name == "--url-query" || form
	if !ok || !named && !o.Value.Starts("@") {
		return
	}
	file, _, _ = file.Cut(";")
	if !file.Is("-") {
		e.Use(file, false, o.Name+" of curl")
	}
}
