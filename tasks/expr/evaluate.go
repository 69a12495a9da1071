package expr

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/tasks/problem"
)

// isTrue converts a string to a boolean: the empty string and
// "false" are false, everything else is true.
func isTrue(s string) bool { return s != "" && s != "false" }

func truth(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// Reduce fills in the variables of an expression with their values, and evaluates what does not
// depend on the repository. It returns a text if that is everything.
func (e Expression) Reduce(value func(name string) string) (Expression, *problem.Fault) {
	switch e.op {
	case isText:
		return e, nil
	case isVariable:
		return Expression{op: isText, at: e.at, text: value(e.text)}, nil
	default: // with operands
	}
	out := e
	out.args = make([]Expression, len(e.args))
	open := false
	for i, a := range e.args {
		r, f := a.Reduce(value)
		if f != nil {
			return Expression{}, f
		}
		out.args[i] = r
		open = open || r.op != isText
	}
	switch {
	case e.op == isAnd || e.op == isOr:
		return out.reduceChain(), nil
	case e.op == hasFile:
		p, f := filePath(out.args[0])
		out.args[0].text = p
		return out, f
	case open:
		return out, nil
	}
	return Expression{op: isText, at: e.at, text: truth(out.compute(texts(out.args)))}, nil
}

// reduceChain decides && and || by any one of their operands, or else leaves
// those that are open.
func (e Expression) reduceChain() Expression {
	decisive := e.op == isOr
	open := e
	open.args = nil
	for _, a := range e.args {
		switch {
		case a.op != isText:
			open.args = append(open.args, a)
		case isTrue(a.text) == decisive:
			return Expression{op: isText, at: e.at, text: truth(decisive)}
		}
	}
	if len(open.args) == 0 {
		return Expression{op: isText, at: e.at, text: truth(!decisive)}
	}
	return open
}

func texts(args []Expression) []string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.text
	}
	return all
}

// compute applies an operator or a function that does not ask the repository.
func (e Expression) compute(args []string) bool {
	switch e.op {
	case isNot:
		return !isTrue(args[0])
	case isEqual:
		return args[0] == args[1]
	case isUnequal:
		return args[0] != args[1]
	case contains:
		return strings.Contains(args[0], args[1])
	case startsWith:
		return strings.HasPrefix(args[0], args[1])
	case endsWith:
		return strings.HasSuffix(args[0], args[1])
	case matches:
		return e.re.MatchString(args[0])
	default: // the others have values of their own
		return false
	}
}

// Decided reports whether a reduced expression depends on nothing more, and if so whether it holds.
func (e Expression) Decided() (holds, ok bool) { return isTrue(e.text), e.op == isText }

// Holds evaluates a reduced expression. has reports whether the repository has a file or
// directory of this path, which is slash-separated, relative and clean. It is only called if
// the result depends on it; its error is returned as it is.
func (e Expression) Holds(has func(path string) (bool, error)) (bool, error) {
	v, err := e.evaluate(has)
	return isTrue(v), err
}

// evaluate evaluates an expression without variables.
func (e Expression) evaluate(has func(string) (bool, error)) (string, error) {
	switch e.op {
	case isText:
		return e.text, nil
	case hasFile:
		there, err := has(e.args[0].text)
		return truth(there), err
	default: // with operands
	}
	decisive := e.op == isOr
	args := make([]string, len(e.args))
	for i, a := range e.args {
		v, err := a.evaluate(has)
		if err != nil {
			return "", err
		}
		if (e.op == isAnd || e.op == isOr) && isTrue(v) == decisive {
			return truth(decisive), nil
		}
		args[i] = v
	}
	if e.op == isAnd || e.op == isOr {
		return truth(!decisive), nil
	}
	return truth(e.compute(args)), nil
}

// String spells an expression out in one form.
func (e Expression) String() string {
	switch e.op {
	case isText:
		return fmt.Sprintf("%q", e.text)
	case isVariable:
		return e.text
	default: // with operands
	}
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = a.String()
	}
	return string(e.op) + "(" + strings.Join(args, ", ") + ")"
}
