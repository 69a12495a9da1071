package shell

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// stubNames are the programs of generated lines, which exist nowhere else.
func stubNames() []string {
	return []string{"alfa", "bravo", "charlie", "delta", "echo-foxtrot", "golf_1"}
}

// generator makes command lines of every construct of bash that the analysis
// claims to follow.
type generator struct {
	r     *rand.Rand
	depth int
	files int
	funcs int
	exact bool // each command runs with the very words that are written
}

func newGenerator(seed uint64) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 7)), exact: true} //nolint:gosec // a repeatable sequence is wanted
}

func (g *generator) pick(choices ...string) string { return choices[g.r.IntN(len(choices))] }

func (g *generator) line() string {
	parts := make([]string, 1+g.r.IntN(3))
	for i := range parts {
		parts[i] = g.stmt()
	}
	return strings.Join(parts, g.pick("; ", "\n", " && ", " || ", "; ")) + "\nwait"
}

// stmt returns one statement. It can be followed by any operator.
func (g *generator) stmt() string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 4 {
		return g.simple()
	}
	forms := []func() string{
		g.simple, g.simple, g.simple, g.changeDir, g.changeDir, g.list, g.list, g.pipe, g.group, g.conditional, g.loop, g.choice, g.function,
		g.evaluated, g.inner, g.document, g.wrapped, g.substitution, g.tests, g.trap, g.background, g.xargs, g.find,
	}
	return forms[g.r.IntN(len(forms))]()
}

// quote writes a word in one of the ways in which bash reads it back.
func (g *generator) quote(s string) string {
	switch g.r.IntN(8) {
	case 0:
		return "'" + s + "'"
	case 1:
		return `"` + s + `"`
	case 2:
		return `\` + s
	case 3:
		return fmt.Sprintf(`$'\x%02x%s'`, s[0], s[1:])
	case 4:
		return s[:1] + `""` + s[1:]
	case 5:
		return fmt.Sprintf(`$'\%03o'%s`, s[0], s[1:])
	}
	return s
}

func (g *generator) command() string {
	words := []string{g.quote(g.pick(stubNames()...))}
	for range g.r.IntN(3) {
		words = append(words, g.quote(g.pick("one", "two", "-x", "a,b", "--long=v", "x_y")))
	}
	if g.r.IntN(12) == 0 {
		return "{" + g.pick(stubNames()...) + ",one,two}"
	}
	if g.r.IntN(12) == 0 {
		words = append(words, g.pick("{1,2}", "x{a,b}y", "{1..3}", "{x", "{}"))
	}
	if g.r.IntN(16) == 0 {
		g.exact = false
		words = append(words, g.pick("$V", "\"$V\"", "$(bravo)", "one$V", "$UNSET", "$UNSET one", "\"${V:-two}\"", "o*", "\"$@\""))
	}
	return strings.Join(words, " ")
}

func (g *generator) simple() string {
	s := g.command()
	switch g.r.IntN(8) {
	case 0:
		s = "V=1 W=$(" + g.command() + ") " + s
	case 1:
		s = "! " + s
	case 2:
		s = "time " + s
	case 3:
		s = "time -p -- " + s
	}
	if g.r.IntN(3) == 0 {
		s += g.redirect()
	}
	return s
}

func (g *generator) redirect() string {
	g.files++
	name := fmt.Sprintf("file%d", g.files)
	return fmt.Sprintf(g.pick(" > %s", " >> %s 2>&1", " 2> %s", " &> %s", " >| '%s'", " <> %s", " 3> ../%s"), name)
}

func (g *generator) changeDir() string {
	return g.pick("cd d1", "cd d2", "cd d1/d2", "cd ..", "cd missing", "cd 'd1'", "cd d1 || exit", "cd missing || exit 1", "command cd d1", "builtin cd d2",
		"cd -", "pushd d1", "popd", "cd", "cd .", "cd ./d1/../d2", "cd missing || { alfa; exit; }", "cd d1 && alfa > here; cd ..")
}

func (g *generator) list() string {
	return g.stmt() + g.pick("; ", " && ", " || ", "\n") + g.stmt()
}

func (g *generator) pipe() string {
	return g.group() + g.pick(" | ", " |& ") + g.group()
}

func (g *generator) group() string {
	if g.r.IntN(2) == 0 {
		return "{ " + g.stmt() + "\n}"
	}
	return "(" + g.stmt() + "\n)" + g.pick("", g.redirect())
}

func (g *generator) conditional() string {
	s := "if " + g.stmt() + "\nthen " + g.stmt() + "\n"
	if g.r.IntN(2) == 0 {
		s += "elif " + g.stmt() + "\nthen " + g.stmt() + "\n"
	}
	if g.r.IntN(2) == 0 {
		s += "else " + g.stmt() + "\n"
	}
	return s + "fi"
}

func (g *generator) loop() string {
	leave := g.pick("", "", "break\n", "continue\n")
	switch g.r.IntN(4) {
	case 0:
		return "while " + g.command() + "\ndo " + g.stmt() + "\n" + leave + "done"
	case 1:
		return "until " + g.command() + "\ndo " + g.stmt() + "\n" + leave + "done"
	case 2:
		return "for ((n = 0; n < 2; n++)); do " + g.stmt() + "\n" + leave + g.stmt() + "\ndone"
	}
	return "for v in 1 2; do " + g.stmt() + "\n" + leave + g.stmt() + "\ndone"
}

func (g *generator) choice() string {
	return "case " + g.pick("a", "b", "$(alfa)") + " in\n(a) " + g.stmt() + "\n" + g.pick(";;", ";&", ";;&") + "\nb|c) " + g.stmt() + "\n;;\n*) " + g.stmt() + "\nesac"
}

func (g *generator) function() string {
	g.funcs++
	name := g.pick(fmt.Sprintf("fun%d", g.funcs), "alfa", "golf_1")
	g.exact = false // a function's arguments
	body := "{ " + g.stmt() + "\n" + g.pick("", "return\n", "return 1\n", "unset -f alfa\n") + g.stmt() + "\n}"
	define := g.pick(name+"() "+body, "function "+name+" "+body, name+"() ("+g.stmt()+"\n)")
	call := g.pick(name, name+" one", "\\"+name, "command "+name, "("+name+")", "unset -f "+name+"; "+name)
	return g.pick(define+"\n"+call, define+"; "+call, "if alfa\nthen "+define+"\nfi; "+call, call+"; "+define, define, "alfa && "+define+"\n"+call)
}

// nested returns a statement quoted as one word.
func (g *generator) nested() string {
	return "'" + strings.ReplaceAll(g.stmt(), "'", `'\''`) + "'"
}

func (g *generator) evaluated() string {
	return g.pick("eval ", "command eval ", "builtin eval ", "eval -- ") + g.pick(g.nested(), g.command())
}

func (g *generator) inner() string {
	return g.pick("bash -c ", "bash -ec ", "bash --norc -o pipefail -c ", "env bash -c ", "timeout 5 bash -c ", "bash -c -e ", "nice -n 1 bash -c ") +
		g.nested() + g.pick("", " zero one")
}

func (g *generator) document() string {
	body := g.command() + "\n" + g.command()
	switch g.r.IntN(3) {
	case 0:
		return "bash <<'E'\n" + body + "\nE\n:"
	case 1:
		return "alfa <<E\n$(" + g.command() + ") `bravo one` \\$(charlie)\nE\n:"
	}
	return "bash <<< " + g.nested()
}

func (g *generator) wrapped() string {
	s := g.command()
	for range 1 + g.r.IntN(3) {
		s = g.pick("env ", "env A=b ", "env -u V ", "nice ", "nice -n 2 ", "nohup ", "timeout 5 ", "timeout -k 1 -s TERM 5 ", "stdbuf -oL ",
			"setsid -w ", "env -- ", "env C=1 nice ", "npx ", "bunx ", "uv run ", "poetry run ", "bundle exec ", "rustup run stable ", "env -S 'nice -n 1' ") + s
	}
	return g.pick("", "exec ", "command ", "command -- ") + s
}

func (g *generator) substitution() string {
	g.exact = false
	sub := g.pick("$("+g.stmt()+"\n)", "`bravo one`", "\"$("+g.command()+")\"", "<("+g.stmt()+"\n)", "${V:-$("+g.command()+")}", "$(( $("+g.command()+") + 1 ))",
		"\"`alfa \\`bravo two\\``\"", "${V+x}$(alfa $(bravo))", "\"${V:-`charlie`}\"")
	return g.pick("delta "+sub, "V="+sub, "export V="+sub, "V=("+sub+")", ": "+sub, "for v in "+sub+"; do :; done", "local V="+sub, "[ -n x"+sub+" ]")
}

func (g *generator) tests() string {
	return g.pick("[[ -n $("+g.command()+") || `bravo` == x ]]", "(( $("+g.command()+") + 1 ))", "let V=1+$("+g.command()+")", "[[ x =~ $(alfa) ]]",
		"test -n \"$("+g.command()+")\"", "for ((n = $(alfa); n < 2; n++)); do bravo; done")
}

func (g *generator) trap() string {
	return "trap " + g.nested() + " " + g.pick("EXIT", "0", "DEBUG", "ERR")
}

func (g *generator) background() string { return g.group() + " & wait" }

func (g *generator) xargs() string {
	g.exact = false
	return "printf '%s\\n' one two | xargs " + g.pick("", "-n 1 ", "-r ", "-n1 -P 2 ") + g.pick(g.command(), "env "+g.command(), "bash -c "+g.nested()+" zero")
}

func (g *generator) find() string {
	g.exact = false
	return "find . -maxdepth 1 " + g.pick("-type d -exec ", "-name d1 -exec ", "-execdir ") + g.command() + g.pick(" {} \\;", " \\;", " {} +", " {} ';'") +
		g.pick("", " -exec bash -c "+g.nested()+" \\;")
}

// broken returns a line with some characters added or taken away, in which the
// parser may see something else than bash does. A line with a path stays as it is:
// broken, it could name a file elsewhere.
func (g *generator) broken() string {
	line := g.line()
	if strings.ContainsAny(line, "/~") || g.r.IntN(3) == 0 {
		return line
	}
	const added = "'\"\\\\$(){}[]; &|<!#\n=,*?`"
	for range 1 + g.r.IntN(3) {
		at := g.r.IntN(len(line))
		switch g.r.IntN(3) {
		case 0:
			line = line[:at] + line[at+1:]
		case 1:
			line = line[:at] + added[g.r.IntN(len(added)):][:1] + line[at:]
		default:
			to := min(len(line), at+1+g.r.IntN(6))
			line = line[:to] + line[at:]
		}
	}
	return line
}
