package program

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/script"
	"github.com/millhand/millhand/tools/shell/word"
)

// parseAwk reports the files of awk and what its program does beyond printing.
func parseAwk(e *effect.List, c effect.Call, d program) {
	p := word.ParseOptions(d.options, c.Args(), true)
	programs := p.Operands[:min(1, len(p.Operands))]
	if p.Has(d.instead) {
		programs = nil
	}
	for _, o := range p.Options {
		switch o.Name {
		case "-e", "--source":
			programs = append(programs, o.Value)
		case "-f", "--file", "-E", "--exec":
			e.Unknown(effect.ReasonScript)
		case "-i", "--include":
			if o.Value.Is("inplace") {
				d.use = allWrite
				continue
			}
			e.Unknown(effect.ReasonScript)
		}
	}
	p.Operands = awkFiles(p.Operands, !p.Has(d.instead))
	d.skip = 0
	programFiles(e, c, d, p)
	for _, x := range programs {
		awkProgram(e, x)
	}
	if len(programs) == 0 && c.More {
		e.Unknown(effect.ReasonScript)
	}
}

// awkFiles returns the operands that are files: not the program, nor NAME=VALUE.
func awkFiles(operands []word.Word, program bool) []word.Word {
	if program {
		operands = operands[min(1, len(operands)):]
	}
	var files []word.Word
	for _, x := range operands {
		if name, _, ok := x.Cut("="); !ok || !isVariable(name.Text) {
			files = append(files, x)
		}
	}
	return files
}

// isVariable reports whether a text is the name of a variable.
func isVariable(name string) bool {
	letters := strings.Trim(name, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
	return letters && name != "" && (name[0] < '0' || name[0] > '9')
}

// awkProgram analyzes a program's text. It isn't parsed: whatever looks like a
// pipe, a call of system or an output file counts.
func awkProgram(e *effect.List, x word.Word) {
	if !x.Literal() {
		e.Unknown(effect.ReasonScript)
	}
	s := script.ReadAwk(x.Text)
	if s.Runs {
		e.Unknown(effect.ReasonScript)
	}
	if s.Hidden {
		e.UnknownPath("", true)
	}
	for _, f := range s.Files {
		e.Use(word.Plain(f.Name), f.Write, "program of awk")
	}
}
