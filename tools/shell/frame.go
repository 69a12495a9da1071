package shell

import (
	"slices"

	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/syntax"
)

// frame is the script that is being walked, and how it runs.
type frame struct {
	src        string
	id         int  // of the script
	nested     int  // number of scripts around it
	base       int  // where the outermost script holds it
	remote     bool // it runs on another machine: its paths mean nothing here
	inside     int  // package managers that run this, nested
	backquotes int  // around this point: the parser's positions are shifted there
}

// textOf returns the source of adjacent words.
func (f frame) textOf(words []word.Word) string {
	if len(words) == 0 {
		return ""
	}
	if f.backquotes == 0 && !slices.ContainsFunc(words, func(x word.Word) bool { return x.Braced }) {
		return slice(f.src, words[0].From, words[len(words)-1].To)
	}
	return word.Join(words).Text
}

// document returns a here-document's body. Nothing is special in it if
// the delimiter is quoted anywhere.
func (f frame) document(r *syntax.Redirect) word.Word {
	if r.Hdoc == nil {
		return word.Word{}
	}
	res := resolver{src: f.src, shifted: f.backquotes > 0}
	if isQuoted(r) {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				res.add(lit.Value, word.Quoted)
			}
		}
	} else {
		res.parts(r.Hdoc.Parts, inDocument)
	}
	return word.Word{Text: res.text.String(), Kinds: res.kinds.String()}
}

// word resolves the quotes of one word.
func (f frame) word(x *syntax.Word) word.Word {
	r := resolver{src: f.src, shifted: f.backquotes > 0}
	if x == nil || len(x.Parts) == 0 {
		return word.Word{}
	}
	r.parts(x.Parts, "")
	return word.Word{Text: r.text.String(), Kinds: r.kinds.String(), From: int(x.Pos().Offset()), To: int(x.End().Offset())}
}
