package credentials

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/testing/gittest"
)

const token = "ghs_0123456789abcdefghijABCDEFGHIJ012345"

// actions/checkout writes base64 of "x-access-token:" and the token.
const basic = "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hzXzAxMjM0NTY3ODlhYmNkZWZnaGlqQUJDREVGR0hJSjAxMjM0NQ=="

func TestHideRemovesOnlyHeaders(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"as actions/checkout writes it", "[core]\n\tbare = false\n[http \"https://github.com/\"]\n\textraheader = " + basic + "\n[x]\n\ty = z\n", "[core]\n\tbare = false\n[http \"https://github.com/\"]\n[x]\n\ty = z\n"},
		{"for every URL, in capitals", "[HTTP]\n ExtraHeader=" + basic + "\n proxy = p\n", "[HTTP]\n proxy = p\n"},
		{"over several lines", "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: \\\n  basic \\\n abc\n\tsslverify = true", "[http \"https://github.com/\"]\n\tsslverify = true"},
		{"several", "[http \"a\"]\n\textraheader = A: 1\n\textraheader = B: 2\n[http \"b\"]\n\textraheader = C: 3\n", "[http \"a\"]\n[http \"b\"]\n"},
		{"comments that look like it", "# [http]\n; extraheader = a \\\n[http \"u\"]\n# extraheader = x\n\textraheader = A: 1 ; more\n", "# [http]\n; extraheader = a \\\n[http \"u\"]\n# extraheader = x\n"},
		{"other sections", "[httpx]\n\textraheader = a\n[user \"http\"]\n\textraheader = b\n", "[httpx]\n\textraheader = a\n[user \"http\"]\n\textraheader = b\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := withoutHeaders([]byte(test.in))
			if diff := cmp.Diff(test.want, string(got)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			back, err := withHeaders(got, []byte(test.in), got)
			if err != nil || string(back) != test.in {
				t.Errorf("put back: %v\n%s", err, back)
			}
			f, err := gitdir.ParseConfig([]byte(test.in))
			if err != nil {
				t.Fatal(err)
			}
			changed := append(slices.Clone(got), "\n[new]\n\tx = y\n"...)
			if back, err = withHeaders(changed, []byte(test.in), got); err != nil {
				t.Fatal(err)
			}
			again, err := gitdir.ParseConfig(back)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(headersOf(f), headersOf(again), cmp.AllowUnexported(header{})); diff != "" || !strings.Contains(string(back), "[new]") {
				t.Errorf("put back into what was changed: %s\n%s", diff, back)
			}
		})
	}
}

func FuzzWithoutHeaders(f *testing.F) {
	f.Add("[http \"x\"]\n\textraheader = " + basic + "\n")
	f.Add("[http \"]\"] extraheader = \"a\\\n b\" # c\n[http.y]extraheader=z")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := withoutHeaders([]byte(text))
		if err != nil {
			return
		}
		if c, err := gitdir.ParseConfig(got); err != nil || len(headersOf(c)) > 0 {
			t.Errorf("%q becomes %q: %v", text, got, err)
		}
	})
}

func TestHeadersMatchOnlyTheirURLs(t *testing.T) {
	for _, test := range []struct {
		of, to string
		want   bool
	}{
		{"https://github.com/", "https://github.com/acme/api.git", true},
		{"https://github.com", "https://GITHUB.com/acme/api", true},
		{"https://github.com/acme", "https://github.com/acme-evil/x", false},
		{"https://github.com/", "https://github.com.evil.org/x", false},
		{"https://github.com/", "http://github.com/x", false},
		{"https://github.com/", "git@github.com:x/y", false},
		{"", "https://x.org/y", true},
	} {
		if got := (header{url: test.of}).goesWith(test.to); got != test.want {
			t.Errorf("%q with %q: %v", test.of, test.to, got)
		}
	}
}

// Submodules have the credentials in configurations of their own, and files
// keep their modes.
func TestHeadersOfSubmodulesAreHiddenAndRestored(t *testing.T) {
	dir := gittest.NewSandbox(t).Root
	config := filepath.Join(dir, ".git", "config")
	sub := filepath.Join(dir, ".git", "modules", "a", "b", "config")
	if err := os.MkdirAll(filepath.Dir(sub), 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, ".git", "config.worktree")
	text := "[http \"https://github.com/\"]\n\textraheader = " + basic + "\n[remote \"o\"]\n\turl = https://tess:pass-word-4711@example.com/x\n"
	for _, name := range []string{config, sub, own} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Close()
		os.Chmod(name, 0o640)
	}
	git, err := gitdir.Open(dir, gitdir.Env{})
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := Secrets(git)
	if diff := cmp.Diff([]string{token, token, token, "pass-word-4711"}, secrets); diff != "" || err != nil {
		t.Error(err, diff)
	}
	back, err := Hide(t.Context(), git)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{config, sub, own} {
		if data, _ := os.ReadFile(name); strings.Contains(string(data), "extraheader") || !strings.Contains(string(data), "remote") {
			t.Errorf("%s:\n%s", name, data)
		}
	}
	if auth, err := Authorization(git, "https://github.com/a/b"); auth != "" || err != nil {
		t.Errorf("hidden: %q, %v", auth, err)
	}
	if err := back(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{config, sub, own} {
		info, err := os.Stat(name)
		if data, _ := os.ReadFile(name); !strings.HasSuffix(string(data), text) || err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v\n%s", name, info.Mode(), data)
		}
	}
	if auth, err := Authorization(git, "https://github.com/a/b"); !strings.HasPrefix(auth, "basic eC1h") || err != nil {
		t.Errorf("put back: %q, %v", auth, err)
	}
}
