package ecosystem_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/ecosystem"
)

// readModules returns the modules that the files of a workspace name.
func readModules(t *testing.T, workspace files) *ecosystem.Modules {
	t.Helper()
	root, err := os.OpenRoot(home(t, nil, workspace)("HOME"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := ecosystem.Detect(root)
	if err != nil {
		t.Fatal(err)
	}
	modules := &ecosystem.Modules{}
	modules.Read(root, found)
	return modules
}

func TestModulesThatTheJobDoesNotRequireAreOthers(t *testing.T) {
	cache := t.TempDir()
	for _, module := range []string{
		"example.com/!a/b@v1.0.0", "example.com/!a/b@v1.2.0", "example.com/!a/b/v2@v2.0.0", "example.com/!a/b/sub@v1.0.0", "example.com/!a/b/v2/sub@v2.0.0",
		"example.com/!a/secret@v1.0.0", "example.com/a/b@v1.0.0", "corp.test/secret@v0.0.0-20250101000000-abcdefabcdef", "corp.test/used@v1.0.0+incompatible",
		"gopkg.in/yaml.v2@v2.4.0", "gopkg.in/yaml.v3@v3.0.1", "gopkg.in/other.v3@v3.0.1", "root.test@v1.0.0", "other.test@v1.0.0",
		"golang.org/toolchain@v0.0.1-go1.30.0.linux-amd64", "golang.org/x/secret@v1.0.0", "deep.test/x/y/z@v1.0.0", "deep.test/x/y/w@v1.0.0", "deep.test/v/y@v1.0.0",
	} {
		at, version, _ := strings.Cut(module, "@")
		write(t, cache, module+"/go.mod", "cache/download/"+at+"/@v/"+version+".zip")
	}
	write(t, cache, "cache/lock", "cache/download/sumdb/sum.golang.org/latest", "cache/vcs/x/config")
	tests := []struct {
		name      string
		workspace files
		want      string // hidden of the extracted ones; "" for all
	}{
		{"nothing", files{"go.mod": "module m\n\ngo 1.26\n"}, "corp.test deep.test example.com golang.org/x gopkg.in other.test@v1.0.0 root.test@v1.0.0"},
		{"go.mod", files{"go.mod": "module m\n\nrequire example.com/A/b v1.0.0 // indirect v1\nrequire (\n\t\"gopkg.in/yaml.v3\" v3.0.1\n)\n"}, "corp.test deep.test example.com/!a/b/sub@v1.0.0 example.com/!a/b/v2/sub@v2.0.0 example.com/!a/secret@v1.0.0 example.com/a golang.org/x gopkg.in/other.v3@v3.0.1 other.test@v1.0.0 root.test@v1.0.0"},
		{"go.sum", files{"go.mod": "module m\n", "go.sum": "deep.test/x/y/z v1.0.0 h1:a//b=\nroot.test v1.0.0/go.mod h1:c=\n"}, "corp.test deep.test/v deep.test/x/y/w@v1.0.0 example.com golang.org/x gopkg.in other.test@v1.0.0"},
		{"replace", files{"go.mod": "module m\n\nreplace deep.test/x => corp.test/used v1.0.0\n"}, "corp.test/secret@v0.0.0-20250101000000-abcdefabcdef deep.test example.com golang.org/x gopkg.in other.test@v1.0.0 root.test@v1.0.0"},
		{"nested", files{"a/b/go.mod": "module m\n", "a/b/tools.sum": "other.test v1.0.0 h1:\n", "vendor/x/go.mod": "require root.test v1.0.0"}, "corp.test deep.test example.com golang.org/x gopkg.in root.test@v1.0.0"},
		{"go.work", files{"go.work": "go 1.26\n", "go.work.sum": "corp.test/secret v0.0.0 h1:\n"}, "corp.test/used@v1.0.0+incompatible deep.test example.com golang.org/x gopkg.in other.test@v1.0.0 root.test@v1.0.0"},
		{"v2 of a submodule", files{"go.mod": "require example.com/A/b/v2/sub v2.0.0\n"}, "corp.test deep.test example.com/!a/b/sub@v1.0.0 example.com/!a/b/v2@v2.0.0 example.com/!a/b@v1.0.0 example.com/!a/b@v1.2.0 example.com/!a/secret@v1.0.0 example.com/a golang.org/x gopkg.in other.test@v1.0.0 root.test@v1.0.0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readModules(t, tt.workspace).Others(cache)
			if err != nil {
				t.Fatal(err)
			}
			var extracted, downloaded []string
			for _, p := range got {
				if rest, ok := strings.CutPrefix(p, "cache/download/"); ok {
					downloaded = append(downloaded, rest)
				} else {
					extracted = append(extracted, p)
				}
			}
			slices.Sort(extracted)
			if text := strings.Join(extracted, " "); text != tt.want {
				t.Errorf("extracted: got %s, want %s", text, tt.want)
			}
			slices.Sort(downloaded)
			var same []string
			for _, p := range extracted {
				if dir, _, version := strings.Cut(p, "@"); version {
					p = dir + "/@v"
					// A module without other modules in its directory is hidden with it.
					if !slices.Contains(downloaded, p) {
						p = dir
					}
				}
				same = append(same, p)
			}
			slices.Sort(same)
			if want := slices.Compact(same); !slices.Equal(downloaded, want) {
				t.Errorf("downloaded: got %s, want %s", downloaded, want)
			}
		})
	}
	if got, err := readModules(t, nil).Others(filepath.Join(cache, "absent")); err == nil {
		t.Errorf("a cache that can't be read: %v", got)
	}
}

// FuzzModules: files of a workspace are untrusted.
func FuzzModules(f *testing.F) {
	f.Add("module m\nrequire (\n\tA/../../b v1\n)\n")
	f.Add("/ v1\n// v1\n. v2\n/v2 v2 v2\n@v v1\n")
	f.Fuzz(func(t *testing.T, text string) {
		cache := t.TempDir()
		write(t, cache, "corp.test/secret/x@v1.0.0/go.mod", "cache/download/corp.test/secret/x/@v/list")
		got, err := readModules(t, files{"go.mod": "", "go.sum": text}).Others(cache)
		if err != nil || strings.Contains(text, "corp.test") {
			return
		}
		if want := []string{"corp.test", "cache/download/corp.test"}; !slices.Equal(got, want) {
			t.Errorf("%q hides %s", text, got)
		}
	})
}
