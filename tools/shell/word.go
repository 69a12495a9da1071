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
	Text   string
	Kinds  string // for each byte of text where it comes from
	From   int    // where the word begins in the script
	To     int    // and ends
	Braced bool   // made by a brace expansion, so that from and to are those of all
}

// literal reports whether the text is known: no expansion is in it.
func (x word) Literal() bool { return !strings.ContainsAny(x.Kinds, "?*pf") }

// fixed reports whether the word is known to be exactly its text.
func (x word) Fixed() bool { return x.Literal() && x.Wildcard() < 0 }

// splits reports whether the word may become several, or none.
func (x word) Splits() bool { return strings.IndexByte(x.Kinds, split) >= 0 }

// is reports whether the word is certainly s.
func (x word) Is(s string) bool { return x.Text == s && x.Literal() }

// starts reports whether the word certainly starts with s.
func (x word) Starts(s string) bool {
	return strings.HasPrefix(x.Text, s) && !strings.ContainsAny(x.Kinds[:len(s)], "?*pf")
}

// wildcard returns the index of the first wildcard, or -1.
func (x word) Wildcard() int {
	for i := range len(x.Text) {
		switch {
		case x.Kinds[i] == pattern:
			return i
		case x.Kinds[i] != bare:
		case x.Text[i] == '*' || x.Text[i] == '?':
			return i
		case x.Text[i] == '[' && strings.Contains(x.Text[i:], "]"):
			return i
		}
	}
	return -1
}

// expansion returns the index of the first expansion, or -1.
func (x word) Expansion() int { return strings.IndexAny(x.Kinds, "?*pf") }

// after returns the word without its first n bytes.
func (x word) After(n int) word {
	x.Text, x.Kinds = x.Text[n:], x.Kinds[n:]
	return x
}

// before returns the first n bytes of the word.
func (x word) Before(n int) word {
	x.Text, x.Kinds = x.Text[:n], x.Kinds[:n]
	return x
}

// cut splits a word at the first sep, which is not in an expansion.
func (x word) Cut(sep string) (head, tail word, ok bool) {
	for i := range len(x.Text) {
		if strings.HasPrefix(x.Text[i:], sep) && x.Kinds[i] != single && x.Kinds[i] != split {
			return x.Before(i), x.After(i + len(sep)), true
		}
	}
	return x, word{}, false
}

// plainWord returns a literal word that isn't in the source.
func plainWord(text string) word {
	return word{Text: text, Kinds: strings.Repeat(string(quoted), len(text)), Braced: true}
}

// substitute marks every mark in the words as an expansion of the given kind.
func substitute(words []word, mark string, kind byte) []word {
	out := make([]word, len(words))
	for i, x := range words {
		kinds := []byte(x.Kinds)
		for at := 0; mark != ""; {
			n := strings.Index(x.Text[at:], mark)
			if n < 0 {
				break
			}
			for j := range mark {
				kinds[at+n+j] = kind
			}
			at += n + len(mark)
		}
		x.Kinds = string(kinds)
		out[i] = x
	}
	return out
}

// join returns the words joined by spaces, as eval joins its own.
func join(words []word) word {
	var out word
	for i, x := range words {
		if i > 0 {
			out.Text += " "
			out.Kinds += string(quoted)
		}
		out.Text += x.Text
		out.Kinds += x.Kinds
	}
	return out
}

// spelled returns a known name in which a quoted "~" can't be mistaken for home.
func spelled(x word) string {
	if strings.HasPrefix(x.Text, "~") && x.Kinds[0] != bare {
		return "./" + x.Text
	}
	return x.Text
}

// home rewrites a word that starts with a variable for a known directory ($HOME,
// $PWD), and reports whether the word is literal then.
func home(x word) (word, bool) {
	for _, v := range []struct{ variable, path string }{
		{"$HOME", "~"}, {"${HOME}", "~"}, {"$PWD", "."}, {"${PWD}", "."}, {"$(pwd)", "."}, {"`pwd`", "."},
	} {
		rest, ok := strings.CutPrefix(x.Text, v.variable)
		n := len(v.variable)
		if !ok || rest != "" && rest[0] != '/' || strings.Trim(x.Kinds[:n], "?*") != "" {
			continue
		}
		x.Text, x.Kinds = v.path+rest, string(bare)+x.Kinds[n:]
		break
	}
	if strings.HasPrefix(x.Text, "~+") || strings.HasPrefix(x.Text, "~-") {
		return x, x.Kinds[0] != bare
	}
	return x, x.Literal()
}
