package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Where a byte of a word comes from.
const (
	bare    = 'b' // written without quotes: "~", "*" and the like are special
	quoted  = 'q' // written in quotes or escaped
	pattern = 'g' // an extended pattern, @(a|b)
	single  = '?' // an expansion whose value stays one word, "$x"
	split   = '*' // an expansion whose value may become several words or none, $x
	channel = 'p' // a process substitution, which is the name of a pipe
	match   = 'f' // a file that find has found, {}
)

// word is one word of a command after brace expansion. An expansion stands in
// it as its own source.
type word struct {
	text   string
	kinds  string // for each byte of text where it comes from
	from   int    // where the word begins in the script
	to     int    // and ends
	braced bool   // made by a brace expansion, so that from and to are those of all
}

// literal reports whether the text is known: no expansion is in it.
func (x word) literal() bool { return !strings.ContainsAny(x.kinds, "?*pf") }

// fixed reports whether the word is known to be exactly its text.
func (x word) fixed() bool { return x.literal() && x.wildcard() < 0 }

// splits reports whether the word may become several, or none.
func (x word) splits() bool { return strings.IndexByte(x.kinds, split) >= 0 }

// is reports whether the word is certainly s.
func (x word) is(s string) bool { return x.text == s && x.literal() }

// starts reports whether the word certainly starts with s.
func (x word) starts(s string) bool {
	return strings.HasPrefix(x.text, s) && !strings.ContainsAny(x.kinds[:len(s)], "?*pf")
}

// wildcard returns the index of the first wildcard, or -1.
func (x word) wildcard() int {
	for i := range len(x.text) {
		switch {
		case x.kinds[i] == pattern:
			return i
		case x.kinds[i] != bare:
		case x.text[i] == '*' || x.text[i] == '?':
			return i
		case x.text[i] == '[' && strings.Contains(x.text[i:], "]"):
			return i
		}
	}
	return -1
}

// expansion returns the index of the first expansion, or -1.
func (x word) expansion() int { return strings.IndexAny(x.kinds, "?*pf") }

// after returns the word without its first n bytes.
func (x word) after(n int) word {
	x.text, x.kinds = x.text[n:], x.kinds[n:]
	return x
}

// before returns the first n bytes of the word.
func (x word) before(n int) word {
	x.text, x.kinds = x.text[:n], x.kinds[:n]
	return x
}

// cut splits a word at the first sep, which is not in an expansion.
func (x word) cut(sep string) (head, tail word, ok bool) {
	for i := range len(x.text) {
		if strings.HasPrefix(x.text[i:], sep) && x.kinds[i] != single && x.kinds[i] != split {
			return x.before(i), x.after(i + len(sep)), true
		}
	}
	return x, word{}, false
}

// plainWord returns a literal word that isn't in the source.
func plainWord(text string) word {
	return word{text: text, kinds: strings.Repeat(string(quoted), len(text)), braced: true}
}

// substitute marks every mark in the words as an expansion of the given kind.
func substitute(words []word, mark string, kind byte) []word {
	out := make([]word, len(words))
	for i, x := range words {
		kinds := []byte(x.kinds)
		for at := 0; mark != ""; {
			n := strings.Index(x.text[at:], mark)
			if n < 0 {
				break
			}
			for j := range mark {
				kinds[at+n+j] = kind
			}
			at += n + len(mark)
		}
		x.kinds = string(kinds)
		out[i] = x
	}
	return out
}

// join returns the words joined by spaces, as eval joins its own.
func join(words []word) word {
	var out word
	for i, x := range words {
		if i > 0 {
			out.text += " "
			out.kinds += string(quoted)
		}
		out.text += x.text
		out.kinds += x.kinds
	}
	return out
}

// words expands braces and resolves quotes.
func (w *walker) words(list []*syntax.Word) []word {
	var out []word
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
func (w *walker) braces(x *syntax.Word) []word {
	c := &syntax.Word{Parts: append([]syntax.WordPart(nil), x.Parts...)}
	isBraces := func(p syntax.WordPart) bool { _, ok := p.(*syntax.BraceExp); return ok }
	if !syntax.SplitBraces(c) || !slices.ContainsFunc(c.Parts, isBraces) {
		return []word{w.frame.word(x)}
	}
	from, to := int(x.Pos().Offset()), int(x.End().Offset())
	var out []word
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
		out = append(out, word{text: r.text.String(), kinds: r.kinds.String(), from: from, to: to, braced: true})
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
			r.add(singleQuoted(p), quoted)
		case *syntax.DblQuoted:
			r.quotes = true
			r.parts(p.Parts, inDouble)
		case *syntax.ExtGlob:
			r.add(p.Op.String()+p.Pattern.Value+")", pattern)
		case *syntax.ProcSubst:
			r.add(r.expansion(p), channel)
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
		return split
	}
	e, ok := p.(*syntax.ParamExp)
	if !ok {
		return single
	}
	list := e.Param != nil && e.Param.Value == "@"
	if index, ok := e.Index.(*syntax.Word); ok {
		list = list || index.Lit() == "@"
	}
	if list || e.Names != 0 || e.Excl {
		return split
	}
	return single
}

// lit adds text, resolving its backslashes.
func (r *resolver) lit(s, special string) {
	kind := byte(quoted)
	if special == "" {
		kind = bare
	}
	for i := 0; i < len(s); i++ {
		escape := s[i] == '\\' && i+1 < len(s)
		switch {
		case escape && special == "":
			i++
			r.quotes = true
			r.add(s[i:i+1], quoted)
		case escape && strings.IndexByte(special, s[i+1]) >= 0:
			i++
			r.add(s[i:i+1], quoted)
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
