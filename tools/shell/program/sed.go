package program

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"github.com/millhand/millhand/tools/shell/script"
)

// parseSed reports the files of sed, which -i changes, and what its script does
// beyond printing.
func parseSed(e *effect.List, c effect.Call, d program) {
	p := d.parse(c.Args())
	programFiles(e, c, d, p)
	if p.Has("-f --file") {
		e.Unknown(effect.ReasonScript)
	}
	for _, o := range p.Options {
		if (o.Name == "-i" || o.Name == "--in-place") && strings.Contains(o.Value.Text, "/") {
			e.UnknownPath(o.Value.Text, true) // the path of the backup
		}
	}
	var scripts []string
	for _, x := range sedScripts(p) {
		if !x.Literal() {
			e.Unknown(effect.ReasonScript)
		}
		scripts = append(scripts, x.Text)
	}
	if len(scripts) == 0 && c.More {
		e.Unknown(effect.ReasonScript)
	}
	sedEffects(e, strings.Join(scripts, "\n"))
}

// sedScripts returns the sections of the script, each of which is lines of it.
func sedScripts(p word.Parsed) []word.Word {
	var scripts []word.Word
	for _, o := range p.Options {
		if (o.Name == "-e" || o.Name == "--expression") && o.Given {
			scripts = append(scripts, o.Value)
		}
	}
	if !p.Has("-e -f --expression --file") && len(p.Operands) > 0 {
		scripts = p.Operands[:1]
	}
	return scripts
}

// sedEffects reports the files that a script names and the commands that it
// can run. A script that isn't understood can do anything.
func sedEffects(e *effect.List, text string) {
	s := script.ReadSed(text)
	for _, f := range s.Files {
		if f.Name != "-" {
			e.Use(word.Plain(f.Name), f.Write, "script of sed")
		}
	}
	if s.Bad || s.Runs {
		e.Unknown(effect.ReasonScript)
	}
	for _, command := range s.Commands {
		e.RunText(word.Plain(command))
	}
}
