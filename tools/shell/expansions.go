package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// substitutions walks the commands in a word, and what else an expansion can
// do: assign a variable, or evaluate text.
func (w *walker) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w.err != nil {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.substitution(n)
			return false
		case *syntax.ProcSubst:
			w.isolated(func() { w.stmts(n.Stmts) })
			return false
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
		w.backquotes++
		defer func() { w.backquotes-- }()
	}
	if n.TempFile || n.ReplyVar {
		before := w.at
		w.move(before.or(w.stmts(n.Stmts).either()))
		return
	}
	w.isolated(func() { w.stmts(n.Stmts) })
}

// parameter looks at ${...}: ${x@P} evaluates the value, ${x:=y} assigns, and
// a subscript or an offset is arithmetic.
func (w *walker) parameter(p *syntax.ParamExp) {
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.OtherParamOps:
			if p.Exp.Word == nil || p.Exp.Word.Lit() == "P" {
				w.unknown(ReasonScript, source(w.src, p))
			}
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if p.Param != nil {
				w.variable(p.Param.Value, p)
			}
		}
	}
	w.suspectArithmetic(p.Index)
	if p.Slice != nil {
		w.suspectArithmetic(p.Slice.Offset)
		w.suspectArithmetic(p.Slice.Length)
	}
}

// arithmetic walks an arithmetic expression.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	w.suspectArithmetic(x)
	w.substitutions(x)
}

// suspectArithmetic looks at what the evaluation of an expression can do
// beside its plain substitutions: assign a variable that matters, or run what
// stands in quotes.
func (w *walker) suspectArithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	for n := range syntax.Preorder(x) {
		switch n := n.(type) {
		case *syntax.Lit:
			if decides(n.Value) {
				w.unknown(ReasonEnvironment, source(w.src, x))
			}
		case *syntax.Word:
			t := w.word(n)
			if holdsCommand(t) {
				w.unknown(ReasonArithmetic, t.text)
			}
		}
	}
}

// holdsCommand reports whether quoted text has a command substitution in it.
func holdsCommand(x word) bool {
	for i := range len(x.text) {
		if x.kinds[i] == quoted && (x.text[i] == '`' || x.text[i] == '$' && strings.HasPrefix(x.text[i:], "$(")) {
			return true
		}
	}
	return false
}

// data looks at text that becomes a variable's value or a builtin's operand:
// a[$(x)] runs x once it is used as a number or as the name of a variable.
func (w *walker) data(x word) {
	if _, index, ok := x.cut("["); ok && holdsCommand(index) {
		w.unknown(ReasonArithmetic, x.text)
	}
}

// dataWord does both for a word of the source.
func (w *walker) dataWord(x *syntax.Word) {
	if x == nil {
		return
	}
	t := w.word(x)
	w.data(t)
	if i := t.wildcard(); i >= 0 && strings.Contains(t.text[:i], "/") {
		w.name(t, false, "wildcard")
	}
	w.substitutions(x)
}

// test walks the expression of [[ ]]: its operands can be evaluated as numbers.
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		w.data(w.word(x))
		w.substitutions(x)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.UnaryTest:
		w.test(x.X)
	case *syntax.BinaryTest:
		w.test(x.X)
		w.test(x.Y)
	}
}
