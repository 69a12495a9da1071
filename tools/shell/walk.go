package shell

import (
	"maps"

	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// walker walks the syntax tree of a line, and of the scripts in it, as a shell
// would run them.
type walker struct {
	result  findings
	frame   frame
	funcs   functions
	scripts map[string]*parsedScript // parsed once, so that visiting again finds the same nodes
	steps   int
	depth   int

	// The state of the shell at the point reached.
	at      places
	jumps   places // where it was when it left the loop or function early
	all     places // where any shell of the line has been
	traps   []trap
	matches []word.Word // what find's {} stands for

	// A text such as a[$(x)], and a computation that evaluates what it is
	// given, are harmless each for itself.
	unevaluated string
	computes    bool
}

type parsedScript struct {
	id   int
	file *syntax.File
	err  error
}

type trap struct {
	text string
	base int
}

// outcome is where a shell is after a command succeeded or failed.
type outcome struct{ ok, bad places }

func same(p places) outcome { return outcome{p, p} }

func (o outcome) either() places { return o.ok.or(o.bad) }

func (o outcome) or(q outcome) outcome { return outcome{o.ok.or(q.ok), o.bad.or(q.bad)} }

func newWalker() *walker {
	return &walker{
		result: newFindings(), scripts: map[string]*parsedScript{},
		funcs: functions{defined: map[string]bool{}, called: map[*syntax.Stmt]bool{}},
	}
}

// line walks the line, and then what is run later or perhaps never: traps, and
// functions that nothing calls.
func (w *walker) line(text string) {
	w.at, w.all = start(), start()
	s := w.load(text)
	if s.err != nil {
		w.result.fail("%w", s.err)
		return
	}
	w.frame.src, w.frame.id = text, s.id
	w.stmts(s.file.Stmts)
	for i := 0; i < len(w.traps) && w.result.err == nil; i++ {
		w.at, w.frame.base = w.all, w.traps[i].base
		w.script(w.traps[i].text, true)
	}
	w.frame.base = 0
	w.uncalled()
	w.result.ranOwnFiles()
	if w.computes && w.unevaluated != "" {
		w.result.unknown(effect.ReasonArithmetic, w.unevaluated)
	}
}

// spend counts work, and reports whether there is still some allowed.
func (w *walker) spend(n int) bool {
	if w.steps += n; w.steps > maxSteps {
		w.result.fail("command line too complex")
	}
	return w.result.err == nil
}

// load parses a script and makes its functions known.
func (w *walker) load(text string) *parsedScript {
	if s, ok := w.scripts[text]; ok {
		return s
	}
	s := &parsedScript{id: len(w.scripts)}
	s.file, s.err = parse(text)
	w.scripts[text] = s
	if s.err != nil {
		return s
	}
	for n := range syntax.Preorder(s.file) {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			w.funcs.bodies = append(w.funcs.bodies, body{f.Name.Value, f.Body, text, s.id})
		}
	}
	return s
}

// script walks the text of a script: in the same shell, as eval does, or in a
// shell of its own.
func (w *walker) script(text string, sameShell bool) outcome {
	before := w.at
	if w.frame.nested++; w.frame.nested > maxScripts {
		w.result.fail("scripts are nested more than %d deep", maxScripts)
	}
	defer func() { w.frame.nested-- }()
	s := w.load(text)
	if s.err != nil {
		w.result.fail("%w", s.err)
	}
	if w.result.err != nil {
		return same(before)
	}
	var out outcome
	w.within(text, s.id, func() {
		if sameShell {
			out = w.stmts(s.file.Stmts)
			return
		}
		out = same(before)
		w.isolated(func() {
			w.funcs.defined, w.funcs.returns = map[string]bool{}, false
			w.stmts(s.file.Stmts)
		})
	})
	return out
}

// within walks another script's nodes.
func (w *walker) within(src string, id int, f func()) {
	oldSrc, oldID, backquotes := w.frame.src, w.frame.id, w.frame.backquotes
	w.frame.src, w.frame.id, w.frame.backquotes = src, id, 0
	f()
	w.frame.src, w.frame.id, w.frame.backquotes = oldSrc, oldID, backquotes
}

// isolated walks what runs in a process of its own: where that goes and what
// it defines stays there.
func (w *walker) isolated(f func()) {
	at, jumps, defined, returns := w.at, w.jumps, w.funcs.defined, w.funcs.returns
	w.funcs.defined = maps.Clone(defined)
	f()
	w.at, w.jumps, w.funcs.defined, w.funcs.returns = at, jumps, defined, returns
}

// branch walks what may or may not run: what it defines isn't certain
// afterwards, nor is what it may have removed.
func (w *walker) branch(from places, f func() outcome) outcome {
	before := maps.Clone(w.funcs.defined)
	w.at = from
	out := f()
	for name := range before {
		if !w.funcs.defined[name] {
			delete(before, name)
		}
	}
	w.funcs.defined = before
	return out
}

func (w *walker) stmts(list []*syntax.Stmt) outcome {
	out := outcome{ok: w.at}
	for _, s := range list {
		if w.result.err != nil {
			break
		}
		out = w.stmt(s)
		w.move(out.either())
	}
	return out
}

// move notes where the shell is now.
func (w *walker) move(p places) {
	w.at = p
	w.all = w.all.or(p)
}

func (w *walker) stmt(s *syntax.Stmt) outcome {
	before := w.at
	w.depth++
	defer func() { w.depth-- }()
	if !w.spend(1) || w.depth > maxDepth {
		w.result.fail("command line too complex")
		return same(before)
	}
	if s.Background {
		w.isolated(func() { w.command(s) })
		return outcome{ok: before}
	}
	out := w.command(s)
	if s.Negated {
		out.ok, out.bad = out.bad, out.ok
	}
	return out
}

// command walks a statement's command and its redirections.
func (w *walker) command(s *syntax.Stmt) outcome {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.simple(s, call)
	}
	w.redirects(s.Redirs)
	if s.Cmd == nil {
		return same(w.at)
	}
	return w.compound(s.Cmd)
}

// compound walks every command that isn't a simple one.
func (w *walker) compound(cmd syntax.Command) outcome {
	before := w.at
	switch c := cmd.(type) {
	case *syntax.Block:
		return w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.isolated(func() { w.stmts(c.Stmts) })
	case *syntax.BinaryCmd:
		return w.binary(c)
	case *syntax.IfClause:
		return w.conditional(c)
	case *syntax.WhileClause:
		return w.while(c)
	case *syntax.ForClause:
		return w.iteration(c)
	case *syntax.CaseClause:
		return w.cases(c)
	case *syntax.FuncDecl:
		w.declareFunction(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return w.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		w.coprocess(c)
	case *syntax.DeclClause:
		analyzeDeclaration(w, c)
	case *syntax.TestClause:
		w.test(c.X)
	case *syntax.ArithmCmd:
		w.arithmetic(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			subscript(w, x)
		}
	default:
		w.result.fail("syntax not supported (%T)", cmd)
	}
	return same(before)
}

func (w *walker) binary(c *syntax.BinaryCmd) outcome {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		w.isolated(func() { w.stmt(c.X) })
		w.isolated(func() { w.stmt(c.Y) })
		return same(w.at)
	}
	x := w.stmt(c.X)
	w.move(x.either())
	from, skipped := x.ok, outcome{bad: x.bad}
	if c.Op == syntax.OrStmt {
		from, skipped = x.bad, outcome{ok: x.ok}
	}
	return skipped.or(w.branch(from, func() outcome { return w.stmt(c.Y) }))
}

func (w *walker) conditional(c *syntax.IfClause) outcome {
	if len(c.Cond) == 0 { // "else"
		return w.stmts(c.Then)
	}
	cond := w.stmts(c.Cond)
	then := w.branch(cond.ok, func() outcome { return w.stmts(c.Then) })
	if c.Else == nil {
		return then.or(outcome{ok: cond.bad})
	}
	return then.or(w.branch(cond.bad, func() outcome { return w.conditional(c.Else) }))
}

func (w *walker) while(c *syntax.WhileClause) outcome {
	return w.loop(func() places {
		cond := w.stmts(c.Cond)
		if c.Until {
			cond.ok, cond.bad = cond.bad, cond.ok
		}
		do := w.branch(cond.ok, func() outcome { return w.stmts(c.Do) })
		return cond.bad.or(do.either())
	})
}

func (w *walker) iteration(c *syntax.ForClause) outcome {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		w.spend(len(l.Items))
		changeVariable(w, l.Name.Value, l)
		for _, x := range l.Items {
			w.dataWord(x)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			w.arithmetic(x)
		}
	}
	return w.loop(func() places {
		return w.branch(w.at, func() outcome { return w.stmts(c.Do) }).either()
	})
}

// loop walks a loop's round until it reaches no new directory. The round
// returns where it can end.
func (w *walker) loop(round func() places) outcome {
	jumps := w.jumps
	in := w.at
	for n := 0; w.result.err == nil; n++ {
		w.jumps = places{}
		w.move(in)
		reached := in.or(round()).or(w.jumps)
		if reached.equal(in) {
			break
		}
		in = reached
		if n == 2 {
			in = places{anywhere: true}
		}
	}
	w.jumps = jumps.or(w.jumps)
	w.at = in
	return same(in)
}

func (w *walker) cases(c *syntax.CaseClause) outcome {
	w.substitutions(c.Word)
	before := w.at
	out, previous := same(before), places{}
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.substitutions(p)
		}
		o := w.branch(before.or(previous), func() outcome { return w.stmts(item.Stmts) })
		previous = o.either()
		out = out.or(o)
	}
	return out
}

func (w *walker) coprocess(c *syntax.CoprocClause) {
	if c.Name != nil {
		w.substitutions(c.Name)
		changeVariable(w, c.Name.Lit(), c.Name)
	}
	w.isolated(func() { w.stmt(c.Stmt) })
}
