package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// functions are the functions of a line and its scripts.
type functions struct {
	bodies  []body
	defined map[string]bool // functions that certainly exist here
	calls   []*syntax.Stmt  // bodies being walked
	returns bool            // a return leaves one of them
	called  map[*syntax.Stmt]bool
}

// body is a function's body and the script in which it stands.
type body struct {
	name string
	stmt *syntax.Stmt
	src  string
	id   int
}

// function walks a function of this name, if any, and reports whether it
// certainly exists.
func (w *walker) function(name string) (out outcome, certain bool) {
	before, jumps := w.at, w.jumps
	w.jumps = places{}
	var reached places
	for _, b := range w.funcs.bodies {
		if b.name == name {
			w.at = before
			reached = reached.or(w.body(b))
		}
	}
	reached = reached.or(w.jumps)
	w.at, w.jumps = before, jumps
	if w.funcs.defined[name] && !strings.Contains(name, "/") {
		return same(reached), true
	}
	return same(reached), false
}

// body walks a function's body where it is called.
func (w *walker) body(b body) places {
	if slices.Contains(w.funcs.calls, b.stmt) {
		return places{anywhere: true}
	}
	w.funcs.called[b.stmt] = true
	w.funcs.calls = append(w.funcs.calls, b.stmt)
	returns := w.funcs.returns
	w.funcs.returns = true
	var out outcome
	w.within(b.src, b.id, func() {
		out = w.branch(w.at, func() outcome { return w.stmt(b.stmt) })
	})
	w.funcs.calls = w.funcs.calls[:len(w.funcs.calls)-1]
	w.funcs.returns = returns
	return out.either()
}

// uncalled walks the functions that the line doesn't call, which another
// shell may be given.
func (w *walker) uncalled() {
	for i := 0; i < len(w.funcs.bodies) && w.result.err == nil; i++ {
		if b := w.funcs.bodies[i]; !w.funcs.called[b.stmt] {
			w.at = w.all
			w.isolated(func() {
				w.funcs.defined = map[string]bool{}
				w.body(b)
			})
		}
	}
}

func (w *walker) declareFunction(c *syntax.FuncDecl) {
	if c.Name == nil {
		w.result.fail("function without a name")
		return
	}
	w.funcs.defined[c.Name.Value] = true
}
