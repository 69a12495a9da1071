// Package word has the words of commands after their quotes are resolved, with where each of their bytes comes from, and
// parses options among them. It knows neither syntax trees nor programs.
package word

import "strings"

// Where a byte of a word comes from.
const (
	Bare    = 'b' // written without quotes: "~", "*" and the like are special
	Quoted  = 'q' // written in quotes or escaped
	Pattern = 'g' // an extended pattern, @(a|b)
	Single  = '?' // an expansion whose value stays one word, "$x"
	Split   = '*' // an expansion whose value may become several words or none, $x
	Channel = 'p' // a process substitution, which is the name of a pipe
	Match   = 'f' // a file that find has found, {}
)

// Word is one word of a command after brace expansion. An expansion stands in
// it as its own source.
type Word struct {
	Text   string
	Kinds  string // for each byte of text where it comes from
	From   int    // where the word begins in the script
	To     int    // and ends
	Braced bool   // made by a brace expansion, so that from and to are those of all
}

// Literal reports whether the text is known: no expansion is in it.
func (x Word) Literal() bool { return !strings.ContainsAny(x.Kinds, "?*pf") }

// Fixed reports whether the word is known to be exactly its text.
func (x Word) Fixed() bool { return x.Literal() && x.Wildcard() < 0 }

// Splits reports whether the word may become several, or none.
func (x Word) Splits() bool { return strings.IndexByte(x.Kinds, Split) >= 0 }

// Is reports whether the word is certainly s.
func (x Word) Is(s string) bool { return x.Text == s && x.Literal() }

// Starts reports whether the word certainly starts with s.
func (x Word) Starts(s string) bool {
	return strings.HasPrefix(x.Text, s) && !strings.ContainsAny(x.Kinds[:len(s)], "?*pf")
}

// Wildcard returns the index of the first wildcard, or -1.
func (x Word) Wildcard() int {
	for i := range len(x.Text) {
		switch {
		case x.Kinds[i] == Pattern:
			return i
		case x.Kinds[i] != Bare:
		case x.Text[i] == '*' || x.Text[i] == '?':
			return i
		case x.Text[i] == '[' && strings.Contains(x.Text[i:], "]"):
			return i
		}
	}
	return -1
}

// Expansion returns the index of the first expansion, or -1.
func (x Word) Expansion() int { return strings.IndexAny(x.Kinds, "?*pf") }

// After returns the word without its first n bytes.
func (x Word) After(n int) Word {
	x.Text, x.Kinds = x.Text[n:], x.Kinds[n:]
	return x
}

// Before returns the first n bytes of the word.
func (x Word) Before(n int) Word {
	x.Text, x.Kinds = x.Text[:n], x.Kinds[:n]
	return x
}

// Cut splits a word at the first sep, which is not in an expansion.
func (x Word) Cut(sep string) (head, tail Word, ok bool) {
	for i := range len(x.Text) {
		if strings.HasPrefix(x.Text[i:], sep) && x.Kinds[i] != Single && x.Kinds[i] != Split {
			return x.Before(i), x.After(i + len(sep)), true
		}
	}
	return x, Word{}, false
}

// Plain returns a literal word that isn't in the source.
func Plain(text string) Word {
	return Word{Text: text, Kinds: strings.Repeat(string(Quoted), len(text)), Braced: true}
}

// Substitute marks every mark in the words as an expansion of the given kind.
func Substitute(words []Word, mark string, kind byte) []Word {
	out := make([]Word, len(words))
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

// Join returns the words joined by spaces, as eval joins its own.
func Join(words []Word) Word {
	var out Word
	for i, x := range words {
		if i > 0 {
			out.Text += " "
			out.Kinds += string(Quoted)
		}
		out.Text += x.Text
		out.Kinds += x.Kinds
	}
	return out
}

// Spelled returns a known name in which a quoted "~" can't be mistaken for home.
func Spelled(x Word) string {
	if strings.HasPrefix(x.Text, "~") && x.Kinds[0] != Bare {
		return "./" + x.Text
	}
	return x.Text
}

// Home rewrites a word that starts with a variable for a known directory ($HOME,
// $PWD), and reports whether the word is literal then.
func Home(x Word) (Word, bool) {
	for _, v := range []struct{ variable, path string }{
		{"$HOME", "~"}, {"${HOME}", "~"}, {"$PWD", "."}, {"${PWD}", "."}, {"$(pwd)", "."}, {"`pwd`", "."},
	} {
		rest, ok := strings.CutPrefix(x.Text, v.variable)
		n := len(v.variable)
		if !ok || rest != "" && rest[0] != '/' || strings.Trim(x.Kinds[:n], "?*") != "" {
			continue
		}
		x.Text, x.Kinds = v.path+rest, string(Bare)+x.Kinds[n:]
		break
	}
	if strings.HasPrefix(x.Text, "~+") || strings.HasPrefix(x.Text, "~-") {
		return x, x.Kinds[0] != Bare
	}
	return x, x.Literal()
}

// Renamed returns a word that stands where x does.
func (x Word) Renamed(text string) Word {
	y := Plain(text)
	y.From, y.To, y.Braced = x.From, x.To, x.Braced
	return y
}

// IsRooted reports whether a path doesn't depend on the current directory.
func IsRooted(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") }
