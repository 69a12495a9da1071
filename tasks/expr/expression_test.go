package expr

import (
	"slices"
	"strings"
	"testing"
)

func TestExpressionsAreReduced(t *testing.T) {
	values := map[string]string{"vars.on": "yes", "vars.off": "false", "vars.v": "5.10"}
	for _, tt := range []struct{ expression, want string }{
		{`vars.on`, "holds"},
		{`vars.off`, "does not hold"},
		{`vars.v == 5.1`, "does not hold"},
		{`vars.v == 5.10 && !vars.off`, "holds"},
		{`matches(vars.v, '^5') && (contains(vars.on, "e") || vars.off)`, "holds"},
		{`repo.has('./web//app/')`, `repo.has("web/app")`},
		{`repo.has('a') && vars.off`, "does not hold"},
		{`vars.off || repo.has('a') == vars.on`, `||(==(repo.has("a"), "yes"))`},
	} {
		e, fault := Parse(tt.expression)
		if fault != nil {
			t.Fatalf("%s: %v", tt.expression, fault)
		}
		e, fault = e.Reduce(func(name string) string { return values[name] })
		if fault != nil {
			t.Fatalf("%s: %v", tt.expression, fault)
		}
		got := e.String()
		if holds, ok := e.Decided(); ok {
			got = map[bool]string{true: "holds", false: "does not hold"}[holds]
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.expression, got, tt.want)
		}
	}
}

func TestTheRepositoryIsAskedOnlyIfTheResultDependsOnIt(t *testing.T) {
	e, fault := Parse(`repo.has('a') || repo.has('b') && repo.has('c')`)
	if fault != nil {
		t.Fatal(fault)
	}
	for _, tt := range []struct {
		files string
		holds bool
		asked string
	}{{"a", true, "a"}, {"bc", true, "abc"}, {"c", false, "ab"}} {
		asked := ""
		holds, err := e.Holds(func(path string) (bool, error) { asked += path; return strings.Contains(tt.files, path), nil })
		if err != nil || holds != tt.holds || asked != tt.asked {
			t.Errorf("with %s: %t, %v, asked %s", tt.files, holds, err, asked)
		}
	}
}

func TestFaultsHaveTheirOffsetAndAFix(t *testing.T) {
	for _, tt := range []struct {
		expression string
		at         int
		what, fix  string
	}{
		{`a == `, 5, "the condition ends too early", "write for example vars.NAME == 'TEXT' or repo.has('FILE')"},
		{`a = b`, 2, `unexpected "="`, "write == to compare"},
		{`start(a, b)`, 0, `unknown function "start"`, "functions: contains, endsWith, matches, repo.has, startsWith"},
		{`a && matches(b, '(')`, 16, "invalid regular expression: missing closing ): \"(\"", "use RE2 syntax"},
		{`repo.has('../x')`, 9, `"../x" is not a path inside the repository`, "write it from the repository's top, such as 'web/package.json'"},
	} {
		_, fault := Parse(tt.expression)
		if fault == nil || fault.At != tt.at || fault.What != tt.what || fault.Fix != tt.fix {
			t.Errorf("%s: got %+v", tt.expression, fault)
		}
	}
}

func TestVariablesAndFunctionsAreNamed(t *testing.T) {
	e, fault := Parse(`vars.a == 'x' && contains(repo.name, env.B)`)
	if fault != nil {
		t.Fatal(fault)
	}
	var names []string
	e.Variables(func(name string, _ int) { names = append(names, name) })
	if !slices.Equal(names, []string{"vars.a", "repo.name", "env.B"}) {
		t.Errorf("variables %q", names)
	}
	if example, ok := Example("matches"); !ok || example != "matches(repo.name, '^api-')" {
		t.Errorf("example %q, %t", example, ok)
	}
	if _, ok := Example("match"); ok {
		t.Error("match is a function")
	}
}

// FuzzExpression looks for expressions that break the parser, and compares what
// it decides early with what it would decide late.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"true", "vars.a == 'x' && !repo.has('y')", `contains(vars.a, "b") || (env.C != -1.5)`, "matches(repo.name, '^a{3}$')", "((1", "'it''s'", "a && b || c == d", "repo.has(vars.a)", "!!!!!!!!",
		"repo.has('a') == repo.has('b') || 'x'", "startsWith(endsWith(1, 2), 't')",
	} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, s, v string) {
		e, fault := Parse(s)
		if fault != nil {
			if fault.At < 0 || fault.At > len(s) || fault.What == "" || fault.Fix == "" {
				t.Fatalf("%q: %+v", s, fault)
			}
			return
		}
		values := func(name string) string {
			if name == "task.id" {
				return "t"
			}
			return v
		}
		rest, fault := e.Reduce(values)
		if fault != nil {
			return
		}
		rest.Variables(func(name string, _ int) { t.Fatalf("%q leaves %s", s, name) })
		has := func(path string) (bool, error) { return len(path)%2 == 1, nil }
		got, err := rest.Holds(has)
		if want := slow(e, values, has); err != nil || got != isTrue(want) {
			t.Fatalf("%q is %t, want %q, %v", s, got, want, err)
		}
	})
}

// slow evaluates an expression with all of its parts.
func slow(e Expression, value func(string) string, has func(string) (bool, error)) string {
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = slow(a, value, has)
	}
	switch e.op {
	case isText:
		return e.text
	case isVariable:
		return value(e.text)
	case hasFile:
		p, _ := filePath(Expression{text: args[0]})
		there, _ := has(p)
		return truth(there)
	case isAnd, isOr:
		all, some := true, false
		for _, a := range args {
			all, some = all && isTrue(a), some || isTrue(a)
		}
		return truth(e.op == isAnd && all || e.op == isOr && some)
	default:
		return truth(e.compute(args))
	}
}
