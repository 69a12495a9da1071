package shell

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/script"
)

// parseSed reports the files of sed, which -i changes, and what its script does
// beyond printing.
func parseSed(w *walker, c call, d program) {
	p := d.parse(c.args())
	programFiles(w, c, d, p)
	if p.has("-f --file") {
		w.result.unknown(ReasonScript, c.text)
	}
	for _, o := range p.options {
		if (o.name == "-i" || o.name == "--in-place") && strings.Contains(o.value.text, "/") {
			w.result.unknownPath(o.value.text, true) // the path of the backup
		}
	}
	var scripts []string
	for _, x := range sedScripts(p) {
		if !x.literal() {
			w.result.unknown(ReasonScript, c.text)
		}
		scripts = append(scripts, x.text)
	}
	if len(scripts) == 0 && c.more {
		w.result.unknown(ReasonScript, c.text)
	}
	sedEffects(w, strings.Join(scripts, "\n"), c)
}

// sedScripts returns the sections of the script, each of which is lines of it.
func sedScripts(p parsed) []word {
	var scripts []word
	for _, o := range p.options {
		if (o.name == "-e" || o.name == "--expression") && o.given {
			scripts = append(scripts, o.value)
		}
	}
	if !p.has("-e -f --expression --file") && len(p.operands) > 0 {
		scripts = p.operands[:1]
	}
	return scripts
}

// sedEffects reports the files that a script names and the commands that it
// can run. A script that isn't understood can do anything.
func sedEffects(w *walker, text string, c call) {
	s := script.ReadSed(text)
	for _, f := range s.Files {
		if f.Name != "-" {
			w.name(plainWord(f.Name), f.Write, "script of sed")
		}
	}
	if s.Bad || s.Runs {
		w.result.unknown(ReasonScript, c.text)
	}
	for _, command := range s.Commands {
		w.text(plainWord(command), c)
	}
}
