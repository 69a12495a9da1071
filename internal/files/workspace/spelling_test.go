package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	composed   = "caf\u00e9.txt"
	decomposed = "cafe\u0301.txt"
)

// spelledIn returns a workspace with files.
func spelledIn(tb testing.TB, names ...string) *Workspace {
	tb.Helper()
	dir := tb.TempDir()
	for _, name := range names {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	w, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	return w
}

func TestSpelledPathIsTheOneMeant(t *testing.T) {
	w := spelledIn(t, "src/a.txt", "plain", decomposed, "v\u00a013.txt", "Bild\u202f1/x\u2009y", "$HOME/b", "%X%", `src\b.txt`, "line\nfeed", " space ", `"q"`, "~user", "C:/x", "~/x", "file:/x")
	for name, want := range map[string]string{
		"~":                     "/home/me",
		"~/.config/app.toml":    "/home/me/.config/app.toml",
		composed:                w.dir + "/" + decomposed,
		w.dir + "/" + composed:  w.dir + "/" + decomposed,
		"./" + composed:         w.dir + "/./" + decomposed,
		"v 13.txt":              w.dir + "/v\u00a013.txt",
		"Bild 1/x y":            w.dir + "/Bild\u202f1/x\u2009y",
		"Bild 1/new":            w.dir + "/Bild\u202f1/new",
		"src/../" + composed:    w.dir + "/src/../" + decomposed,
		composed + "/":          w.dir + "/" + decomposed,
		"~/" + composed:         "/home/me/" + composed,
		"file:/x":               "file:/x", // this and the others exist
		"file:///x":             "file:///x",
		"../beside/" + composed: "../beside/" + composed,
	} {
		if got, err := w.Spelled(name, "/home/me"); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{
		"src/a.txt", w.dir + "/src/a.txt", "src", "src/", ".", "..", "/", "/etc/passwd", "src/new.txt", "new/dir/x", "a.txt/x", "plain/x", "./~/x", "$HOME/b", "$HOME/new", "%X%", `src\b.txt`,
		"line\nfeed", " space ", `"q"`, "~user", "./~other", "./$HOME2/x", "C:/x", "app/$id.tsx", "$id.tsx", "$.tsx", "a$b", "100%", "50%-60%.md", "~$doc.docx", "@types/x", "src/@src/x", "./@src/x", "@", "@/x", "new/@a.txt", "file", "a b.txt", "src/it's", "x:y", "12:30",
		"src/${package}/X.java", "é", "日本/語", strings.Repeat("x", 300), strings.Repeat("é", 200), "x\x00y",
	} {
		if got, err := w.Spelled(name, ""); err != nil || got != name {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestMistakenPathIsAnErrorThatNamesTheOneMeant(t *testing.T) {
	w := spelledIn(t, "src/a.txt", "my file.txt", "a.txt", "etc/x")
	for name, want := range map[string]string{
		"file:///etc/motd":           `is a URL; use "/etc/motd"`,
		"file://localhost/etc/motd":  `use "/etc/motd"`,
		"file://host/x":              `use "/x"`,
		"FILE:/etc/a%20b":            `use "/etc/a b"`,
		"file://src/a.txt":           `use "src/a.txt"`,
		"file:src/new.txt":           `is a URL; use "src/new.txt"`,
		"@src/new.txt":               `starts with @; use "src/new.txt"`,
		"@a.txt":                     `use "a.txt"`,
		w.dir + "/@src/a.txt":        `use "src/a.txt"`,
		"https://example.com/x":      "is a URL; file tools need the path of a file",
		"$HOME/b.txt":                "starts with the variable $HOME, which file tools do not expand; use ~/b.txt, or ./$HOME/b.txt for a file of this name",
		"$HOME":                      "use ~,",
		"${HOME}/.config/x":          "use ~/.config/x",
		w.dir + "/$HOME/x":           "use ~/x",
		"$PWD/src/a.txt":             "use src/a.txt",
		"${VAR}/x":                   "starts with the variable ${VAR}",
		"$(pwd)/x":                   "starts with the variable $(pwd)",
		`%USERPROFILE%\x`:            "starts with the variable %USERPROFILE%, which file tools do not expand; use ~/x",
		"%USERPROFILE%/a/b":          "use ~/a/b",
		`$env:USERPROFILE\a\b`:       "use ~/a/b",
		"~root/x":                    "only ~/ at the start of a path is expanded",
		"~+/x":                       "only ~/",
		w.dir + "/~/x":               "only ~/",
		`src\a.txt`:                  `contains a backslash; use "src/a.txt"`,
		`src\new.txt`:                `use "src/new.txt"`,
		w.dir + `\x`:                 "contains a backslash",
		`.\src\a.txt`:                `use "src/a.txt"`,
		`src\\a.txt`:                 `use "src/a.txt"`,
		`my\ file.txt`:               `use "my file.txt"`,
		`new\name`:                   `use "new/name"`,
		`src/..\a.txt`:               "contains a backslash",
		`C:\Users\x`:                 "is a path of Windows",
		"c:/x":                       "is a path of Windows",
		`"src/a.txt"`:                `is in quotes; use "src/a.txt"`,
		"'new.txt'":                  `use "new.txt"`,
		"`a.txt`":                    `use "a.txt"`,
		`"/etc/motd"`:                `use "/etc/motd"`,
		"a.txt\n":                    `has white space at the start or end of a name; use "a.txt"`,
		" a.txt":                     `use "a.txt"`,
		"new dir /x.txt":             `use "new dir/x.txt"`,
		"src/a.txt\u00a0":            `use "src/a.txt"`,
		"a\nb.txt":                   "contains a control character",
		"src/\x1b[31mred":            "contains a control character",
		w.dir + "/src/" + "x\ty.txt": "contains a control character",
	} {
		got, err := w.Spelled(name, "/home/me")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := w.Spelled("~/x", ""); err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Errorf("~ without a home: %v", err)
	}
}

func TestNameOfSeveralFilesIsAmbiguous(t *testing.T) {
	w := spelledIn(t, decomposed, "v\u00a01", "v\u20091")
	if got, err := w.Spelled("v 1", ""); err == nil || !strings.Contains(err.Error(), `"v 1" can be "v\u00a01" or "v\u20091"`) {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"v\u00a01", "v\u20091", decomposed} {
		if got, err := w.Spelled(name, ""); err != nil || got != name {
			t.Errorf("%q exists: %q, %v", name, got, err)
		}
	}
}

func FuzzSpelled(f *testing.F) {
	w := spelledIn(f, "src/a.txt", decomposed, "v\u00a013.txt", "$HOME/b", `src\b.txt`, "line\nfeed", " s ")
	for _, seed := range []string{"src/a.txt", composed, "v 13.txt", "~/x", "file:///x", "$HOME/b", `src\a.txt`, `"x"`, "a\n", "/etc/passwd", "../x", "%A%/x", "src/../..", "line\nfeed", "//", "", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := w.Spelled(name, "/home/me")
		_, missing := os.Lstat(filepath.Join(w.dir, name))
		if filepath.IsLocal(name) && filepath.Clean(name) == name && name[0] != '~' && missing == nil && (err != nil || got != name) {
			t.Errorf("%q exists: %q, %v", name, got, err)
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Errorf("%q: the error has control characters: %q", name, err)
			}
			return
		}
		if again, err := w.Spelled(got, "/home/me"); err != nil || again != got {
			t.Errorf("%q: %q becomes %q, %v", name, got, again, err)
		}
	})
}
