package search

import (
	"context"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// maxStates limits the memory of a dfa to about 1 KiB per state.
const maxStates = 1000

// dfa reports whether lines match a regular expression, about ten times faster
// than package regexp, which simulates the expression's program for every
// character. A dfa does that once for each pair of a state and an ASCII
// character, and caches the next state. Other characters are not
// cached. It is not safe for concurrent use.
type dfa struct {
	prog   *syntax.Prog
	start  *state
	states map[string]*state
	marks  []bool   // by instruction: already visited in this step
	stack  []uint32 // instructions to visit
	pcs    []uint32 // of the next state
	key    []byte
}

// state is a state of the automaton between two characters of a line.
type state struct {
	next  [utf8.RuneSelf]*state // by the next character, nil if not computed yet
	end   *state                // at the end of the line
	pcs   []uint32              // possible next instructions, before empty ones are followed
	prev  rune                  // class of the previous character: -1 none, 'a' a word character, ' ' another
	match bool                  // the line matches regardless of the rest; such a state has no other fields
}

func newDFA(prog *syntax.Prog) *dfa {
	d := &dfa{prog: prog, states: map[string]*state{}, marks: make([]bool, len(prog.Inst))}
	d.start = d.state(-1)
	return d
}

// match reports whether a line matches. ok is false if there would be
// too many states, or the context is done.
func (d *dfa) match(ctx context.Context, line []byte) (match, ok bool) {
	s := d.start
	for i := 0; i < len(line); {
		c, n := rune(line[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRune(line[i:])
			s = d.step(ctx, s, c)
		} else if next := s.next[c]; next != nil {
			s = next
		} else {
			s.next[c] = d.step(ctx, s, c)
			s = s.next[c]
		}
		if s == nil || s.match {
			return s != nil, s != nil
		}
		i += n
	}
	if s.end == nil {
		s.end = d.step(ctx, s, -1)
	}
	return s.end != nil && s.end.match, s.end != nil
}

// step returns the state after a character, or after the end of the line if it
// is -1; nil if there would be too many states, or the context is done.
func (d *dfa) step(ctx context.Context, s *state, c rune) *state {
	if ctx.Err() != nil {
		return nil
	}
	empty := syntax.EmptyOpContext(s.prev, c)
	d.pcs = d.pcs[:0]
	clear(d.marks)
	d.stack = append(append(d.stack[:0], s.pcs...), uint32(d.prog.Start)) // a match can start anywhere
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.marks[pc] {
			continue
		}
		d.marks[pc] = true
		switch in := &d.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return &state{match: true}
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			d.stack = append(d.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^empty == 0 {
				d.stack = append(d.stack, in.Out)
			}
		case syntax.InstFail:
		default:
			if c >= 0 && in.MatchRune(c) {
				d.pcs = append(d.pcs, in.Out)
			}
		}
	}
	if syntax.IsWordChar(c) {
		return d.state('a')
	}
	return d.state(' ')
}

// state returns the state of the collected instructions. It creates missing states,
// and returns nil above the limit.
func (d *dfa) state(prev rune) *state {
	slices.Sort(d.pcs) // their order decides where a match ends, not whether there is one
	d.pcs = slices.Compact(d.pcs)
	d.key = append(d.key[:0], byte(prev))
	for _, pc := range d.pcs {
		d.key = binary.LittleEndian.AppendUint32(d.key, pc)
	}
	s := d.states[string(d.key)]
	if s == nil && len(d.states) < maxStates {
		s = &state{pcs: slices.Clone(d.pcs), prev: prev}
		d.states[string(d.key)] = s
	}
	return s
}
