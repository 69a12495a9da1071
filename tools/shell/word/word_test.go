package word

import (
	"slices"
	"testing"
)

// bareWord returns a word that is written without quotes.
func bareWord(text string) Word {
	x := Plain(text)
	kinds := make([]byte, len(text))
	for i := range kinds {
		kinds[i] = Bare
	}
	x.Kinds = string(kinds)
	return x
}

func TestWhatIsKnownOfAWord(t *testing.T) {
	variable := Word{Text: "a$x", Kinds: "b**"}
	for name, tt := range map[string]struct {
		x                      Word
		literal, fixed, splits bool
		wildcard               int
	}{
		"text":              {bareWord("a"), true, true, false, -1},
		"a wildcard":        {bareWord("a*"), true, false, false, 1},
		"a quoted wildcard": {Plain("a*"), true, true, false, -1},
		"an open bracket":   {bareWord("a["), true, true, false, -1},
		"brackets":          {bareWord("a[b]"), true, false, false, 1},
		"a variable":        {variable, false, false, true, -1},
		"a quoted variable": {Word{Text: "$x", Kinds: "??"}, false, false, false, -1},
	} {
		if x := tt.x; x.Literal() != tt.literal || x.Fixed() != tt.fixed || x.Splits() != tt.splits || x.Wildcard() != tt.wildcard {
			t.Errorf("%s: literal %t, fixed %t, splits %t, wildcard %d", name, x.Literal(), x.Fixed(), x.Splits(), x.Wildcard())
		}
	}
	if variable.Expansion() != 1 || !variable.Starts("a") || variable.Starts("a$") || variable.Is("a$x") {
		t.Errorf("%+v is read wrongly", variable)
	}
}

func TestWordsAreDividedAndJoined(t *testing.T) {
	head, tail, ok := bareWord("key=value=x").Cut("=")
	if !ok || head.Text != "key" || tail.Text != "value=x" {
		t.Errorf("got %q, %q, %t", head.Text, tail.Text, ok)
	}
	if _, _, ok := (Word{Text: "$(a=b)", Kinds: "******"}).Cut("="); ok {
		t.Error("a word is divided within an expansion")
	}
	if all := Join([]Word{bareWord("a"), Plain("b c")}); all.Text != "a b c" || all.Kinds != "bqqqq" {
		t.Errorf("got %+v", all)
	}
	if marked := Substitute([]Word{Plain("a{}b{}")}, "{}", Match); marked[0].Kinds != "qffqff" {
		t.Errorf("got %q", marked[0].Kinds)
	}
}

func TestOnlyKnownHomeDirectoriesAreReplaced(t *testing.T) {
	for _, tt := range []struct {
		x     Word
		want  string
		known bool
	}{
		{bareWord("a"), "a", true},
		{bareWord("~/a"), "~/a", true},
		{Plain("~/a"), "./~/a", true},
		{Word{Text: "$HOME/a", Kinds: "*****bb"}, "~/a", true},
		{Word{Text: "$PWD", Kinds: "????"}, ".", true},
		{Word{Text: "$HOMEs", Kinds: "******"}, "$HOMEs", false},
		{bareWord("~+/a"), "~+/a", false},
	} {
		x, known := Home(tt.x)
		if got := Spelled(x); got != tt.want || known != tt.known {
			t.Errorf("%s: %s, %t", tt.x.Text, got, known)
		}
	}
}

func TestOptionsAreParsedAsGetoptDoes(t *testing.T) {
	const spec = "-n -k: -o> -i* --output> --quiet -C^"
	parse := func(first bool, args ...string) Parsed {
		var words []Word
		for _, a := range args {
			words = append(words, bareWord(a))
		}
		return ParseOptions(spec, words, first)
	}
	show := func(p Parsed) (all []string) {
		for _, o := range p.Options {
			all = append(all, o.Name+"="+o.Value.Text)
		}
		for _, x := range p.Operands {
			all = append(all, x.Text)
		}
		return all
	}
	for _, tt := range []struct {
		first bool
		args  []string
		want  []string
	}{
		{false, []string{"-n", "a", "-k", "v"}, []string{"-n=", "-k=v", "a"}},
		{true, []string{"-n", "a", "-k", "v"}, []string{"-n=", "a", "-k", "v"}},
		{false, []string{"-nkv"}, []string{"-n=", "-k=v"}},
		{false, []string{"-i.bak", "-i", "a"}, []string{"-i=.bak", "-i=", "a"}},
		{false, []string{"--out=f", "--output", "g"}, []string{"--output=f", "--output=g"}},
		{false, []string{"--", "-n"}, []string{"-n"}},
		{false, []string{"-", "-x"}, []string{"-x=", "-"}},
	} {
		if got := show(parse(tt.first, tt.args...)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.args, got, tt.want)
		}
	}
	p := ParseOptions("-n -c!", []Word{{Text: "$x", Kinds: "**"}}, false)
	if !p.Unsure || p.Has("-n") {
		t.Errorf("an expansion that may be an option: %+v", p)
	}
}
