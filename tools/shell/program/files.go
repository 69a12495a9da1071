package program

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"
)

// program describes how a program that works on files names them on its command
// line.
type program struct {
	options    string                                   // in the notation of package word; options that aren't described are flags
	use        string                                   // what the operands are, see below
	skip       int                                      // operands before those
	instead    string                                   // options that replace the skipped operands
	changes    string                                   // options with which it writes what it otherwise reads
	spares     string                                   // options with which it reads what it otherwise writes
	makes      string                                   // what it writes without a name for it
	names      string                                   // options that name it
	hosts      bool                                     // operands may be on other machines, host:path
	unknowable bool                                     // it has a language of its own that can run programs
	code       func(*effect.List, effect.Call, program) // a parser of its own
}

// What operands are.
const (
	noFiles    = ""
	allRead    = "read all"
	allWrite   = "write all"
	lastWrite  = "read all, write the last"
	firstWrite = "write the first, read the others"
	oneWrite   = "read the first, write the second"
	onlyRead   = "read the first"
	onlyWrite  = "write the first"
)

// operand reports whether operand i of n is a file, and whether it is written.
func operand(use string, i, n int) (file, write bool) {
	switch use {
	case allRead:
		return true, false
	case allWrite:
		return true, true
	case lastWrite:
		return true, i == n-1 && n > 1
	case firstWrite:
		return true, i == 0
	case oneWrite:
		return i < 2, i == 1
	case onlyRead, onlyWrite:
		return i == 0, use == onlyWrite
	}
	return false, false
}

// runProgram reports the files of a program that is described.
func runProgram(e *effect.List, c effect.Call, d program) {
	if d.code != nil {
		d.code(e, c, d)
		return
	}
	programFiles(e, c, d, d.parse(c.Args()))
}

// parse parses the program's arguments. Options of other facts count as
// described, so that they are known when abbreviated.
func (d program) parse(args []word.Word) word.Parsed {
	return word.ParseOptions(strings.Join([]string{d.options, d.changes, d.spares, d.names, d.instead}, " "), args, false)
}

// programFiles reports what a program does with its options and operands.
func programFiles(e *effect.List, c effect.Call, d program, p word.Parsed) {
	optionEffects(e, p, c)
	enterOptions(e, p)
	if d.unknowable {
		e.Unknown(effect.ReasonScript)
	}
	if c.More {
		e.UnknownPath("", d.writes(p))
		if strings.ContainsAny(d.options, word.RunMarks) {
			e.Unknown(effect.ReasonOption)
		}
	}
	if programOperands(e, c, d, p) && slices.ContainsFunc(c.Args(), addsPaths) {
		e.UnknownPath("", d.writes(p))
	}
	if d.makes != "" && !p.Has(d.names) {
		e.UsePath(d.makes, true, "output of "+c.Name())
	}
}

// writes reports whether the program may write what its operands name.
func (d program) writes(p word.Parsed) bool {
	return p.Has(d.changes) || strings.Contains(d.use, "write") && !p.Has(d.spares)
}

// addsPaths reports whether a word may expand to several, which may be files.
func addsPaths(x word.Word) bool {
	_, known := word.Home(x)
	return !known && x.Splits()
}

// programOperands reports the operands of a program, and whether all that are files
// are known.
func programOperands(e *effect.List, c effect.Call, d program, p word.Parsed) bool {
	operands, use := p.Operands, d.use
	if d.skip > 0 && !p.Has(d.instead) {
		operands = operands[min(d.skip, len(operands)):]
	}
	switch {
	case p.Has(d.changes):
		use = allWrite
	case p.Has(d.spares) || use == lastWrite && p.Has("-t --target-directory"):
		use = allRead
	}
	all := true
	for i, x := range operands {
		file, write := operand(use, i, len(operands))
		if file && !x.Is("-") && (!d.hosts || !isRemote(x)) {
			e.Use(x, write, "argument of "+c.Name())
			_, known := word.Home(x)
			all = all && known
		}
	}
	return all
}

// isRemote reports whether a word is host:path or a URL, not a file.
func isRemote(x word.Word) bool {
	colon := strings.IndexByte(x.Text, ':')
	slash := strings.IndexByte(x.Text, '/')
	return colon > 0 && (slash < 0 || colon < slash) && strings.IndexByte(x.Kinds[:colon], word.Split) < 0
}
