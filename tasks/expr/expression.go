package expr

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks/problem"
)

// Expression is a condition taken apart. Every value is text, as in a manifest:
// 5.10 is not 5.1, and what is true or false is the text "true" or "false".
//
//	condition  = and { "||" and }
//	and        = comparison { "&&" comparison }
//	comparison = operand [ ( "==" | "!=" ) operand ]
//	operand    = "!" operand | "(" condition ")" | TEXT | NUMBER | true | false
//	           | VARIABLE | FUNCTION "(" condition { "," condition } ")"
//
// TEXT stands in single or double quotes; a quote within is doubled.
type Expression struct {
	op   operation
	text string // of a text, what it is; of a variable, its name
	args []Expression
	re   *regexp.Regexp // of matches
	at   int            // offset in the condition
}

// operation is what an expression does: one of these, an operator or the name
// of a function.
type operation string

const (
	isText     operation = "text"
	isVariable operation = "variable"
	isNot      operation = "!"
	isAnd      operation = "&&"
	isOr       operation = "||"
	isEqual    operation = "=="
	isUnequal  operation = "!="
	hasFile    operation = "repo.has"
	contains   operation = "contains"
	startsWith operation = "startsWith"
	endsWith   operation = "endsWith"
	matches    operation = "matches"
)

// arity returns the functions, and how many arguments each has.
func arity() map[string]int {
	return map[string]int{string(hasFile): 1, string(contains): 2, string(startsWith): 2, string(endsWith): 2, string(matches): 2}
}

const (
	maxCondition = 4 << 10 // bytes
	maxNesting   = 32      // of parentheses, arguments and "!" in each other
)

// parser reads an expression. After the first fault it is at the end.
type parser struct {
	lexer
	tok   token
	depth int
}

// Parse reads a condition without ${{ }} around it.
func Parse(s string) (Expression, *problem.Fault) {
	if len(s) > maxCondition {
		return Expression{}, &problem.Fault{What: fmt.Sprintf("the condition exceeds %d bytes", maxCondition), Fix: "shorten it"}
	}
	p := &parser{lexer: lexer{s: s}}
	p.advance()
	e := p.or()
	if p.tok.kind != atEnd {
		p.unexpected("write && or || between two conditions")
	}
	return e, p.fault
}

func (p *parser) advance() { p.tok = p.next() }

// fail records the first fault.
func (p *parser) fail(at int, what, fix string) {
	p.lexer.fail(at, what, fix)
	p.tok = token{kind: atEnd, at: len(p.s)}
}

func (p *parser) unexpected(fix string) {
	if p.tok.kind == atEnd {
		p.fail(p.tok.at, "the condition ends too early", fix)
		return
	}
	p.fail(p.tok.at, "unexpected "+problem.Quote(p.tok.text), fix)
}

// take steps over a sign if it comes next.
func (p *parser) take(sign string) bool {
	if p.tok.kind != aSign || p.tok.text != sign {
		return false
	}
	p.advance()
	return true
}

func (p *parser) or() Expression  { return p.chain(isOr, p.and) }
func (p *parser) and() Expression { return p.chain(isAnd, p.comparison) }

// chain reads operands with one operator between them.
func (p *parser) chain(op operation, operand func() Expression) Expression {
	first := operand()
	e := Expression{op: op, at: first.at, args: []Expression{first}}
	for p.take(string(op)) {
		e.args = append(e.args, operand())
	}
	if len(e.args) == 1 {
		return first
	}
	return e
}

func (p *parser) comparison() Expression {
	left := p.operand()
	for _, op := range []operation{isEqual, isUnequal} {
		if p.take(string(op)) {
			return Expression{op: op, at: left.at, args: []Expression{left, p.operand()}}
		}
	}
	return left
}

func (p *parser) operand() Expression {
	t := p.tok
	if p.depth++; p.depth > maxNesting {
		p.fail(t.at, fmt.Sprintf("the condition is nested more than %d deep", maxNesting), "make it flatter")
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("!"):
		return Expression{op: isNot, at: t.at, args: []Expression{p.operand()}}
	case p.take("("):
		e := p.or()
		p.closing()
		return e
	case p.tok.kind == aText:
		p.advance()
		return Expression{op: isText, at: t.at, text: t.text}
	case p.tok.kind == aName:
		p.advance()
		if p.take("(") {
			return p.call(t)
		}
		return Expression{op: isVariable, at: t.at, text: t.text}
	}
	p.unexpected("write for example vars.NAME == 'TEXT' or repo.has('FILE')")
	return Expression{op: isText}
}

func (p *parser) closing() {
	if !p.take(")") {
		p.unexpected(`write ")" here, or an operator`)
	}
}

// call reads the arguments of a function.
func (p *parser) call(name token) Expression {
	e := Expression{op: operation(name.text), at: name.at}
	for p.tok.kind != atEnd && (p.tok.kind != aSign || p.tok.text != ")") {
		e.args = append(e.args, p.or())
		if !p.take(",") {
			break
		}
	}
	p.closing()
	want, known := arity()[name.text]
	switch {
	case p.fault != nil:
	case !known:
		names := slices.Sorted(maps.Keys(arity()))
		fix := problem.Suggestion(name.text, names)
		if fix == "" {
			fix = "functions: " + strings.Join(names, ", ")
		}
		p.fail(name.at, "unknown function "+problem.Quote(name.text), fix)
	case len(e.args) != want:
		p.fail(name.at, fmt.Sprintf("%s: expected %d arguments, got %d", name.text, want, len(e.args)), "write for example "+exampleCall(e.op))
	default:
		p.literals(&e)
	}
	return e
}

func exampleCall(op operation) string {
	switch op {
	case hasFile:
		return "repo.has('package.json')"
	case matches:
		return "matches(repo.name, '^api-')"
	default:
		return string(op) + "(repo.name, 'api')"
	}
}

// literals checks arguments that can be checked before a job is known.
func (p *parser) literals(e *Expression) {
	last := e.args[len(e.args)-1]
	switch {
	case e.op == hasFile && last.op == isText:
		if _, f := filePath(last); f != nil {
			p.fail(f.At, f.What, f.Fix)
		}
	case e.op == hasFile && last.asksRepository():
		p.fail(last.at, "the path must not depend on the repository's content", "write "+exampleCall(e.op))
	case e.op == matches && last.op != isText:
		p.fail(last.at, "expected a quoted regular expression", "write for example "+exampleCall(e.op))
	case e.op == matches:
		re, err := regexp.Compile(last.text)
		if bad := new(syntax.Error); errors.As(err, &bad) {
			p.fail(last.at, fmt.Sprintf("invalid regular expression: %s: %s", bad.Code, problem.Quote(bad.Expr)), "use RE2 syntax")
		}
		e.re = re
	}
}

// filePath returns the path that repo.has is given, in the one form in which
// git has it.
func filePath(e Expression) (string, *problem.Fault) {
	clean := path.Clean(e.text)
	if strings.TrimSpace(e.text) == "" || strings.HasPrefix(e.text, "/") || !fs.ValidPath(clean) || clean == "." {
		return "", &problem.Fault{At: e.at, What: problem.Quote(e.text) + " is not a path inside the repository", Fix: "write it from the repository's top, such as 'web/package.json'"}
	}
	return clean, nil
}

// asksRepository reports whether the expression has to see the repository.
func (e Expression) asksRepository() bool {
	return e.op == hasFile || slices.ContainsFunc(e.args, Expression.asksRepository)
}

// Example returns a call of a function; false if no function has this name.
func Example(function string) (string, bool) {
	return exampleCall(operation(function)), arity()[function] > 0
}

// Variables calls do for each variable in the expression, with its offset in the condition.
func (e Expression) Variables(do func(name string, at int)) {
	if e.op == isVariable {
		do(e.text, e.at)
	}
	for _, a := range e.args {
		a.Variables(do)
	}
}
