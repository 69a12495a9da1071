package action_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/action"
)

func TestAnnotationIsOneCommand(t *testing.T) {
	tests := []struct {
		name string
		a    action.Annotation
		want string
	}{
		{"without a place", action.Annotation{Level: "error", Title: "millhand", Message: "no"}, "::error title=millhand::no\n"},
		{
			"with a place",
			action.Annotation{Level: "warning", Title: "a", Location: action.Location{File: "dir/m.yaml", Line: 3, Column: 5}, Message: "no"},
			"::warning title=a,file=dir/m.yaml,line=3,col=5::no\n",
		},
		{
			"a title that would end",
			action.Annotation{Level: "error", Title: "a,line=1::b", Message: "x"},
			"::error title=a%2Cline=1%3A%3Ab::x\n",
		},
		{
			"a message of lines, percents and the older commands",
			action.Annotation{Level: "error", Title: "a", Message: "100%0A\n::set-output name=a::b\r##[error]c"},
			"::error title=a::100%250A%0A::set-output name=a::b\uFFFD## [error]c\n",
		},
		{
			"a hostile path",
			action.Annotation{Level: "error", Title: "a", Location: action.Location{File: "a,b:\nc"}, Message: "x"},
			"::error title=a,file=a%2Cb%3A%0Ac::x\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.a.Command()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzAnnotation(f *testing.F) {
	f.Add("title", "message\n::error::x %0A", "a,b.yaml")
	f.Add("::", "##[add-mask]x", "\u200d##\u200d[")
	f.Fuzz(func(t *testing.T, title, message, file string) {
		line := action.Annotation{Level: "error", Title: title, Location: action.Location{File: file, Line: 1}, Message: message}.Command()
		if strings.Count(line, "\n") != 1 || strings.Contains(line, "\r") || len(commandsIn(line)) != 1 || strings.Contains(line, "##[") {
			t.Fatalf("not one line: %q", line)
		}
		head, text, ok := strings.Cut(strings.TrimPrefix(line, "::error "), "::")
		if !ok || strings.Count(head, ",") > 2 {
			t.Fatalf("not one command: %q", line)
		}
		if visible := strings.ToValidUTF8(message, "\uFFFD"); !strings.ContainsFunc(visible, func(r rune) bool { return r == '#' || r < ' ' || r > '~' }) &&
			unescape(strings.TrimSuffix(text, "\n")) != visible {
			t.Fatalf("%q became %q", message, unescape(text))
		}
	})
}

func TestLogBreaksCommands(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text", "a\nb\n", "a\nb\n"},
		{"a command", "::set-output name=a::b\n", ": :set-output name=a::b\n"},
		{"a command behind white space", " \t\u2003::debug::b\n", " \t\u2003: :debug::b\n"},
		{"a command behind a carriage return", "a\r::debug::b\n", "a\r: :debug::b\n"},
		{"a command behind what does not show", "\u200d\x00::debug::b\n", "\u200d\x00: :debug::b\n"},
		{"the older form", "see ##[error]x\n", "see ## [error]x\n"},
		{"the older form in a command that may be", "::group::a ##[error]x\n", "::group::a ## [error]x\n"},
		{"colons that are no command", "a::b\n", "a::b\n"},
		{"a last line without an end", "::debug::b", ": :debug::b\n"},
		{"a command that is not one that may be", "::groupies::a\n", ": :groupies::a\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(test.in)} {
				var out strings.Builder
				write(t, action.NewLog(&out, "::group::"), test.in, size)
				if diff := cmp.Diff(test.want, out.String()); diff != "" {
					t.Errorf("in pieces of %d: %s", size, diff)
				}
			}
		})
	}
}

func write(t *testing.T, log *action.Log, text string, size int) {
	t.Helper()
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		if got, err := log.Write([]byte(rest[:n])); err != nil || got != n {
			t.Fatal(got, err)
		}
		rest = rest[n:]
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLongLinesAreSplit(t *testing.T) {
	var out strings.Builder
	log := action.NewLog(&out)
	write(t, log, strings.Repeat("x", 100<<10)+"::debug::x", 1000)
	if got := commandsIn(out.String()); got != nil {
		t.Errorf("obeyed: %q", got)
	}
	if strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%d lines", strings.Count(out.String(), "\n"))
	}
}

func TestAnnotationEndsAnIncompleteLine(t *testing.T) {
	var out strings.Builder
	log := action.NewLog(&out)
	if _, err := log.Write([]byte("half a line")); err != nil {
		t.Fatal(err)
	}
	log.Annotate(action.Annotation{Level: "error", Title: "t", Message: "m"})
	if diff := cmp.Diff("half a line\n::error title=t::m\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func FuzzLog(f *testing.F) {
	for _, seed := range []string{"::error::x\n", "a\r\n ::x::", "##[x]", "#\u200d#[x]", "\ufeff::x", ":\u0301:x"} {
		f.Add(seed, 2)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		var out strings.Builder
		write(t, action.NewLog(&out), text, max(1, size%100))
		if got := commandsIn(out.String()); got != nil {
			t.Fatalf("%q obeys %q", out.String(), got)
		}
	})
}
