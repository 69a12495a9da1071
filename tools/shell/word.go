package shell

import (
	"strings"
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

// spelled returns a known name in which a quoted "~" can't be mistaken for home.
func spelled(x word) string {
	if strings.HasPrefix(x.text, "~") && x.kinds[0] != bare {
		return "./" + x.text
	}
	return x.text
}

// home rewrites a word that starts with a variable for a known directory ($HOME,
// $PWD), and reports whether the word is literal then.
func home(x word) (word, bool) {
	for _, v := range []struct{ variable, path string }{
		{"$HOME", "~"}, {"${HOME}", "~"}, {"$PWD", "."}, {"${PWD}", "."}, {"$(pwd)", "."}, {"`pwd`", "."},
	} {
		rest, ok := strings.CutPrefix(x.text, v.variable)
		n := len(v.variable)
		if !ok || rest != "" && rest[0] != '/' || strings.Trim(x.kinds[:n], "?*") != "" {
			continue
		}
		x.text, x.kinds = v.path+rest, string(bare)+x.kinds[n:]
		break
	}
	if strings.HasPrefix(x.text, "~+") || strings.HasPrefix(x.text, "~-") {
		return x, x.kinds[0] != bare
	}
	return x, x.literal()
}
