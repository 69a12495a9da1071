package shell

import (
	"strings"

	"github.com/millhand/millhand/tools/shell/program"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// substitutions walks the commands in a word, and what else an expansion can
// do: assign a variable, or evaluate text.
func (w *walker) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w.result.err != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.substitution(n)
			return false
		case *syntax.ProcSubst:
			w.isolated(func() { w.stmts(n.Stmts) })
			return false
		case *syntax.DblQuoted:
			w.quotedParameters(n.Parts)
		case *syntax.ParamExp:
			w.parameter(n)
		case *syntax.ArithmExp:
			w.arithmetic(n.X)
			return false
		}
		return true
	})
}

// substitution walks $(...) and `...`. The form ${ ...; } runs in the shell
// itself, so that a cd in it lasts.
func (w *walker) substitution(n *syntax.CmdSubst) {
	if n.Backquotes {
		w.frame.backquotes++
		defer func() { w.frame.backquotes-- }()
	}
	if n.TempFile || n.ReplyVar {
		before := w.at
		w.move(before.or(w.stmts(n.Stmts).either()))
		return
	}
	w.isolated(func() { w.stmts(n.Stmts) })
}

// parameter analyzes ${...}: ${x@P} evaluates the value, ${x:=y} assigns, and
// a subscript or an offset is arithmetic.
func (w *walker) parameter(p *syntax.ParamExp) {
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.OtherParamOps:
			if p.Exp.Word == nil || p.Exp.Word.Lit() == "P" {
				w.result.unknown(effect.ReasonScript, source(w.frame.src, p))
			}
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if p.Param != nil {
				changeVariable(w, p.Param.Value, p)
			}
		default: // the others only choose or change the value
		}
	}
	w.suspectArithmetic(p.Index)
	if p.Slice != nil {
		w.suspectArithmetic(p.Slice.Offset)
		w.suspectArithmetic(p.Slice.Length)
	}
}

// quotedParameters analyzes ${...} between double quotes and in
// here-documents. Bash gives single quotes in it no meaning, the parser does, so
// that it isn't known what is in them and where they end.
func (w *walker) quotedParameters(parts []syntax.WordPart) {
	for _, p := range parts {
		if e, ok := p.(*syntax.ParamExp); ok && singleQuotes(e) {
			w.result.unknown(effect.ReasonScript, source(w.frame.src, e))
		}
	}
}

// singleQuotes reports whether single quotes stand in a node outside the
// commands in it.
func singleQuotes(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.SglQuoted:
			found = true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		}
		return true
	})
	return found
}

// arithmetic walks an arithmetic expression.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	w.suspectArithmetic(x)
	if singleQuotes(x) {
		w.result.unknown(effect.ReasonArithmetic, source(w.frame.src, x))
	}
	w.substitutions(x)
}

// suspectArithmetic analyzes what the evaluation of an expression can do
// beside its plain substitutions: assign a variable that matters, or run what
// stands in quotes.
func (w *walker) suspectArithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	for n := range syntax.Preorder(x) {
		switch n := n.(type) {
		case *syntax.Lit:
			w.computes = w.computes || syntax.ValidName(n.Value)
			if program.Decides(n.Value) {
				w.result.unknown(effect.ReasonEnvironment, source(w.frame.src, x))
			}
		case *syntax.Word:
			t := w.frame.word(n)
			if holdsCommand(t) {
				w.result.unknown(effect.ReasonArithmetic, t.Text)
			}
		}
	}
}

// holdsCommand reports whether quoted text has a command substitution in it.
func holdsCommand(x word.Word) bool {
	for i := range len(x.Text) {
		if x.Kinds[i] == word.Quoted && (x.Text[i] == '`' || x.Text[i] == '$' && strings.HasPrefix(x.Text[i:], "$(")) {
			return true
		}
	}
	return false
}

// data analyzes text that becomes a variable's value or a builtin's operand:
// a[$(x)] runs x once it is used as a number or as the name of a variable, and
// ($(x)) once it is the value of an array.
func (w *walker) data(x word.Word) {
	if runsIfEvaluated(x) {
		w.result.unknown(effect.ReasonArithmetic, x.Text)
	}
}

// runsIfEvaluated reports whether text would run a command if it were evaluated.
func runsIfEvaluated(x word.Word) bool {
	i := strings.IndexAny(x.Text, "[(")
	for i > 0 && x.Text[i-1] == '$' && x.Text[i] == '(' {
		next := strings.IndexAny(x.Text[i+1:], "[(")
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return i >= 0 && holdsCommand(x.After(i))
}

// dataWord does both for a word of the source.
func (w *walker) dataWord(x *syntax.Word) {
	if x == nil {
		return
	}
	t := w.frame.word(x)
	w.data(t)
	if i := t.Wildcard(); i >= 0 && strings.Contains(t.Text[:i], "/") {
		w.name(t, false, "wildcard")
	}
	w.substitutions(x)
}

// test walks the expression of [[ ]]: its operands can be evaluated as numbers.
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		t := w.frame.word(x)
		if t.Starts("#") && t.Kinds[0] == word.Bare {
			w.result.fail("comment in [[ ]]") // the parser sees none there
		}
		w.data(t)
		w.substitutions(x)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.UnaryTest:
		w.computes = w.computes || x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar
		w.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.computes = true
		default: // the others compare text or files
		}
		w.test(x.X)
		w.test(x.Y)
	}
}
