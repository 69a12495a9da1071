package shell

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/shell/word"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words expands braces and resolves quotes.
func (w *walker) words(list []*syntax.Word) []word.Word {
	var out []word.Word
	for _, x := range list {
		out = append(out, w.braces(x)...)
		if len(out) > maxWords {
			w.result.fail("command has more than %d words", maxWords)
			return nil
		}
	}
	return out
}

// braces returns what a word is after brace expansion.
func (w *walker) braces(x *syntax.Word) []word.Word {
	c := &syntax.Word{Parts: append([]syntax.WordPart(nil), x.Parts...)}
	isBraces := func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok }
	if !syntax.SplitBraces(c) || !slices.ContainsFunc(c.Parts, isBraces) {
		return []word.Word{w.frame.word(x)}
	}
	from, to := int(x.Pos().Offset()), int(x.End().Offset())
	var out []word.Word
	for e, err := range expand.BracesSeq(nil, c) {
		if err != nil || len(out) > maxWords {
			w.result.fail("brace expansion results in more than %d words", maxWords)
			return nil
		}
		r := resolver{src: w.frame.src, shifted: w.frame.backquotes > 0}
		r.parts(e.Parts, "")
		if r.text.Len() == 0 && !r.quotes {
			continue // bash drops empty words such as those of {,}
		}
		out = append(out, word.Word{Text: r.text.String(), Kinds: r.kinds.String(), From: from, To: to, Braced: true})
	}
	return out
}

// resolver collects the bytes of a word.
type resolver struct {
	src     string
	shifted bool // positions aren't those in src
	text    strings.Builder
	kinds   strings.Builder
	quotes  bool // there were quotes, so that an empty text is a word too
}

func (r *resolver) add(s string, kind byte) {
	r.text.WriteString(s)
	for range len(s) {
		r.kinds.WriteByte(kind)
	}
}

// The characters that a backslash quotes within double quotes, and within a
// here-document.
const (
	inDouble   = "$`\"\\"
	inDocument = "$`\\"
)

// parts resolves the parts of a word or of quoted text; special holds what a
// backslash quotes there, nothing for text without quotes.
func (r *resolver) parts(parts []syntax.WordPart, special string) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			r.lit(p.Value, special)
		case *syntax.SglQuoted:
			r.quotes = true
			r.add(singleQuoted(p), word.Quoted)
		case *syntax.DblQuoted:
			r.quotes = true
			r.parts(p.Parts, inDouble)
		case *syntax.ExtGlob:
			r.add(p.Op.String()+p.Pattern.Value+")", word.Pattern)
		case *syntax.ProcSubst:
			r.add(r.expansion(p), word.Channel)
		default:
			r.add(r.expansion(p), expansionKind(p, special != ""))
		}
	}
}

// expansion returns the source of an expansion. Within backquotes it isn't
// known where that stands.
func (r *resolver) expansion(p syntax.WordPart) string {
	if e, ok := p.(*syntax.ParamExp); ok && e.Short && e.Param != nil {
		return "$" + e.Param.Value
	}
	if text := source(r.src, p); text != "" && !r.shifted {
		return text
	}
	return "$(...)"
}

func singleQuoted(q *syntax.SglQuoted) string {
	if q.Dollar {
		return ansi(q.Value)
	}
	return q.Value
}

// expansionKind returns whether an expansion's value stays one word.
func expansionKind(p syntax.WordPart, inQuotes bool) byte {
	if !inQuotes {
		return word.Split
	}
	e, ok := p.(*syntax.ParamExp)
	if !ok {
		return word.Single
	}
	list := e.Param != nil && e.Param.Value == "@"
	if index, ok := e.Index.(*syntax.Word); ok {
		list = list || index.Lit() == "@"
	}
	if list || e.Names != 0 || e.Excl {
		return word.Split
	}
	return word.Single
}

// lit adds text, resolving its backslashes.
func (r *resolver) lit(s, special string) {
	kind := byte(word.Quoted)
	if special == "" {
		kind = word.Bare
	}
	for i := 0; i < len(s); i++ {
		escape := s[i] == '\\' && i+1 < len(s)
		switch {
		case escape && special == "":
			i++
			r.quotes = true
			r.add(s[i:i+1], word.Quoted)
		case escape && strings.IndexByte(special, s[i+1]) >= 0:
			i++
			r.add(s[i:i+1], word.Quoted)
		default:
			r.add(s[i:i+1], kind)
		}
	}
}

// source returns the source of a node.
func source(src string, n syntax.Node) string {
	return slice(src, int(n.Pos().Offset()), int(n.End().Offset()))
}

// slice returns src[from:to] as far as there is such a thing.
func slice(src string, from, to int) string {
	to = min(to, len(src))
	from = max(from, 0)
	if from >= to {
		return ""
	}
	return src[from:to]
}
