package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parse reads a script. It refuses what the parser reads in another way than
// bash does, and what is too large for it.
func parse(src string) (*syntax.File, error) {
	if err := bounds(src); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, syntaxError(src, err)
	}
	if misreadsComment(src, file) {
		return nil, errors.New("ambiguous start or end of a comment")
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if err == nil {
			err = repair(src, n)
		}
		return err == nil
	})
	return file, err
}

// syntaxError describes an error of the parser, with the start of what it is about: of a
// quote that is not closed, for example.
func syntaxError(src string, err error) error {
	var parse syntax.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("not valid bash: %w", err)
	}
	at, _, more := strings.Cut(src[min(parse.Pos.Offset(), uint(len(src))):], "\n")
	if len(at) > maxQuoted {
		at, more = strings.ToValidUTF8(at[:maxQuoted], ""), true
	}
	if more {
		at += "…"
	}
	return fmt.Errorf("not valid bash: line %d, column %d: %s: %s", parse.Pos.Line(), parse.Pos.Col(), parse.Text, at)
}

// maxQuoted is how much of a script is quoted in an error, in bytes.
const maxQuoted = 60

// bounds checks a script before parsing. The parser recurses, skips NUL bytes,
// reads a carriage return as a blank, and a "$" at a line's end as a dollar.
func bounds(src string) error {
	if len(src) > MaxLine {
		return fmt.Errorf("script of %d bytes exceeds %d bytes", len(src), MaxLine)
	}
	if strings.Contains(src, "\x00") {
		return errors.New("script contains a NUL byte")
	}
	if strings.Contains(src, "\r") {
		return errors.New(`script contains a carriage return that ends no line; write it as $'\r'`)
	}
	if strings.Contains(src, "$\\\n") {
		return errors.New("expansion is split across two lines")
	}
	depth := 0
	for _, c := range []byte(src) {
		switch c {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
		if depth > maxNesting {
			return fmt.Errorf("brackets are nested more than %d deep", maxNesting)
		}
	}
	return nil
}

// misreadsComment reports whether the parser has read a "#" differently from
// bash: it may start a comment after a quoted word, 'x'#, where bash doesn't, and
// it reads what follows a comment that ends in a backslash as the rest of the
// command before.
func misreadsComment(src string, file *syntax.File) bool {
	if !strings.Contains(src, "#") {
		return false
	}
	if strings.Contains(src, `\`) && hasBackquotes(file) {
		return true // positions in escaped backquotes aren't those in the source
	}
	known := marksOfHash(src, file)
	for i := range len(src) {
		if src[i] != '#' || known[i] {
			continue
		}
		line, _, more := strings.Cut(src[i:], "\n")
		if i > 0 && strings.IndexByte(" \t\n;&|(<>", src[i-1]) < 0 || more && strings.HasSuffix(line, `\`) {
			return true
		}
		for j := range len(line) {
			known[i+j] = true
		}
	}
	return false
}

func hasBackquotes(file *syntax.File) bool {
	for n := range syntax.Preorder(file) {
		if c, ok := n.(*syntax.CmdSubst); ok && c.Backquotes {
			return true
		}
	}
	return false
}

// marksOfHash returns for each byte of the source whether a "#" is inside
// a word or an expansion.
func marksOfHash(src string, file *syntax.File) []bool {
	known := make([]bool, len(src))
	mark := func(n syntax.Node, to bool) {
		for i := n.Pos().Offset(); i < min(n.End().Offset(), uint(len(src))); i++ {
			known[i] = to
		}
	}
	for n := range syntax.Preorder(file) {
		switch n := n.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd:
			mark(n, true)
		case *syntax.CmdSubst, *syntax.ProcSubst:
			mark(n, false)
		}
	}
	return known
}

// repair changes a node that the parser has built in another way than bash, or
// refuses it.
func repair(src string, n syntax.Node) error {
	switch n := n.(type) {
	case *syntax.FuncDecl:
		if n.Body.Negated || !isCompound(n.Body.Cmd) { // the parser reads "| x" and "&& y" after it as its body
			return errors.New("function body must be a compound command that no operator follows")
		}
	case *syntax.CoprocClause:
		call, simple := n.Stmt.Cmd.(*syntax.CallExpr)
		if n.Name != nil && !isCompound(n.Stmt.Cmd) || simple && len(call.Args) > 0 && strings.Contains(call.Args[0].Lit(), "=") {
			return errors.New("coproc must be followed by a simple or compound command")
		}
	case *syntax.LetClause:
		if holdsOperators(n) {
			return errors.New("shell operator in the arguments of let")
		}
	case *syntax.TimeClause:
		return endTimeOptions(n)
	case *syntax.Redirect:
		return plainDocument(src, n)
	}
	return nil
}

// holdsOperators reports whether there are operators in the expressions of let
// that the shell reads as its own, such as "let x>y", unlike the parser.
func holdsOperators(l *syntax.LetClause) bool {
	for _, x := range l.Exprs {
		for n := range syntax.Preorder(x) {
			switch n := n.(type) {
			case *syntax.ParenArithm:
				return true
			case *syntax.BinaryArithm:
				if strings.ContainsAny(n.Op.String(), "<>&|") {
					return true
				}
			}
		}
	}
	return false
}

// isCompound reports whether a command can be a function's body.
func isCompound(c syntax.Command) bool {
	switch c.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.ArithmCmd, *syntax.TestClause:
		return true
	}
	return false
}

// endTimeOptions removes "--" after "time", which the parser reads as a
// command, so that it misparses the words after it.
func endTimeOptions(t *syntax.TimeClause) error {
	if t.Stmt == nil {
		return nil
	}
	first := t.Stmt
	for {
		b, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		first = b.X
	}
	call, ok := first.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "--" || len(call.Assigns) > 0 {
		return nil
	}
	call.Args = call.Args[1:]
	if name := call.Args[0].Lit(); syntax.IsKeyword(name) || name == "time" || strings.Contains(name, "=") || strings.HasPrefix(name, "-") {
		return errors.New("time -- must be followed by a simple command")
	}
	return nil
}

// plainDocument refuses here-documents whose end the parser may see elsewhere:
// bash reads some quotes in a delimiter in another way, and joins lines at a
// backslash also where tabs are removed.
func plainDocument(src string, r *syntax.Redirect) error {
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		return nil
	}
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:+-=@%^!"
	text, _ := delimiter(r.Word)
	if text == "" || strings.Trim(text, plain) != "" {
		return errors.New("here-document delimiter not supported")
	}
	if r.Op == syntax.DashHdoc && !isQuoted(r) && strings.Contains(src, "\\\n") {
		return errors.New("backslash at the end of a line in a here-document with <<-")
	}
	return nil
}

// isQuoted reports whether a here-document's delimiter is quoted anywhere,
// so that nothing is special in its body.
func isQuoted(r *syntax.Redirect) bool {
	_, quoted := delimiter(r.Word)
	return quoted
}

// delimiter returns the delimiter that a word stands for, "" if that can't be
// told for certain, and whether it is quoted.
func delimiter(w *syntax.Word) (text string, quoted bool) {
	if len(w.Parts) != 1 {
		return "", true
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		text, quoted = strings.CutPrefix(p.Value, `\`)
		return text, quoted
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value, true
		}
	case *syntax.DblQuoted:
		if lit, ok := onlyLit(p.Parts); ok && !p.Dollar {
			return lit, true
		}
	}
	return "", true
}

func onlyLit(parts []syntax.WordPart) (string, bool) {
	if len(parts) != 1 {
		return "", false
	}
	lit, ok := parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return lit.Value, true
}
