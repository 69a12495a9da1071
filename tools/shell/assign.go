package shell

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/program"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// analyzeAssignment analyzes NAME=VALUE before the words of a command, or as a
// command of its own if there are none.
func analyzeAssignment(w *walker, a *syntax.Assign, args []*syntax.Word) {
	value := w.frame.word(a.Value)
	local := len(args) > 0 && (args[0].Lit() == "read" || args[0].Lit() == "mapfile" || args[0].Lit() == "readarray")
	if a.Name != nil && (!local || a.Name.Value != "IFS") {
		setVariable(w, a.Name.Value, value, source(w.frame.src, a))
	}
	assignedValues(w, a)
}

// assignedValues walks the parts of an assignment.
func assignedValues(w *walker, a *syntax.Assign) {
	subscript(w, a.Index)
	w.dataWord(a.Value)
	if a.Array == nil {
		return
	}
	for _, e := range a.Array.Elems {
		subscript(w, e.Index)
		w.dataWord(e.Value)
	}
}

// subscript walks the index of an assignment, where single quotes are quotes.
func subscript(w *walker, x syntax.ArithmExpr) {
	if x != nil {
		w.suspectArithmetic(x)
		w.substitutions(x)
	}
}

// setVariable reports a change of a variable that decides what a command runs.
func setVariable(w *walker, name string, value word.Word, text string) {
	if program.DecidesWith(name, value) {
		w.result.unknown(effect.ReasonEnvironment, text)
	}
}

// changeVariable reports a change of such a variable by anything but an assignment.
func changeVariable(w *walker, name string, n syntax.Node) {
	if program.Decides(name) {
		w.result.unknown(effect.ReasonEnvironment, source(w.frame.src, n))
	}
}

// changeNamed does the same for a name among a builtin's words.
func changeNamed(w *walker, x word.Word) {
	name, value, _ := x.Cut("=")
	switch {
	case !name.Literal():
		w.result.unknown(effect.ReasonEnvironment, x.Text)
	default:
		base, _, _ := strings.Cut(strings.TrimSuffix(name.Text, "+"), "[")
		setVariable(w, base, value, x.Text)
	}
	w.data(x)
}

// analyzeDeclaration walks declare, local, export, readonly and typeset.
func analyzeDeclaration(w *walker, d *syntax.DeclClause) {
	for _, a := range d.Args {
		switch {
		case a.Name == nil: // an option, or a name made at run time
			declareWord(w, d.Variant.Value, w.frame.word(a.Value))
		case !a.Naked:
			setVariable(w, a.Name.Value, w.frame.word(a.Value), source(w.frame.src, a))
		}
		assignedValues(w, a)
	}
}

// declareWord analyzes a word of such a command that isn't plainly NAME=VALUE. A
// reference (-n) gives a variable a second name.
func declareWord(w *walker, variant string, x word.Word) {
	if !strings.HasPrefix(x.Text, "-") && !strings.HasPrefix(x.Text, "+") || !x.Literal() {
		changeNamed(w, x)
		return
	}
	if strings.HasPrefix(x.Text, "-") && strings.Contains(x.Text, "n") && variant != "export" {
		w.result.unknown(effect.ReasonEnvironment, x.Text)
	}
}
