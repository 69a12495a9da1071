package shell

import (
	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/script"
	"github.com/millhand/millhand/tools/shell/word"
	"mvdan.cc/sh/v3/syntax"
)

// parseAwk reports the files of awk and what its program does beyond printing.
func parseAwk(w *walker, c call, d program) {
	p := word.ParseOptions(d.options, c.args(), true)
	programs := p.Operands[:min(1, len(p.Operands))]
	if p.Has(d.instead) {
		programs = nil
	}
	for _, o := range p.Options {
		switch o.Name {
		case "-e", "--source":
			programs = append(programs, o.Value)
		case "-f", "--file", "-E", "--exec":
			w.result.unknown(effect.ReasonScript, c.text)
		case "-i", "--include":
			if o.Value.Is("inplace") {
				d.use = allWrite
				continue
			}
			w.result.unknown(effect.ReasonScript, c.text)
		}
	}
	p.Operands = awkFiles(p.Operands, !p.Has(d.instead))
	d.skip = 0
	programFiles(w, c, d, p)
	for _, x := range programs {
		awkProgram(w, x, c)
	}
	if len(programs) == 0 && c.more {
		w.result.unknown(effect.ReasonScript, c.text)
	}
}

// awkFiles returns the operands that are files: not the program, nor NAME=VALUE.
func awkFiles(operands []word.Word, program bool) []word.Word {
	if program {
		operands = operands[min(1, len(operands)):]
	}
	var files []word.Word
	for _, x := range operands {
		if name, _, ok := x.Cut("="); !ok || !syntax.ValidName(name.Text) {
			files = append(files, x)
		}
	}
	return files
}

// awkProgram analyzes a program's text. It isn't parsed: whatever looks like a
// pipe, a call of system or an output file counts.
func awkProgram(w *walker, x word.Word, c call) {
	if !x.Literal() {
		w.result.unknown(effect.ReasonScript, c.text)
	}
	s := script.ReadAwk(x.Text)
	if s.Runs {
		w.result.unknown(effect.ReasonScript, c.text)
	}
	if s.Hidden {
		w.result.unknownPath(c.text, true)
	}
	for _, f := range s.Files {
		w.name(word.Plain(f.Name), f.Write, "program of awk")
	}
}
