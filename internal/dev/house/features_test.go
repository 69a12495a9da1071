package house

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// feature is what can be deleted without the rest: a directory, the files of its commands, and their lines in the
// table of commands.
type feature struct {
	dirs, files []string // files may be patterns
	commands    []string
}

// features lists the features beside the mission that hold this. Those that are missing are still known to the
// packages that they serve: patterns, evidence, forecast and waves. A feature may keep its keys in manifests, its
// events and its fields of the report; the code that does its work is deleted.
func features() map[string]feature {
	return map[string]feature{
		"distill": {[]string{"internal/app/distill"}, []string{"internal/command/distill.go"}, []string{"distillCommand"}},
		"doctor":  {[]string{"internal/app/doctor"}, []string{"internal/command/doctor*.go"}, []string{"doctorCommand"}},
		"follow":  {[]string{"internal/app/follow"}, []string{"internal/command/follow.go"}, []string{"followCommand"}},
		"queue":   {[]string{"internal/app/queue"}, []string{"internal/command/queue*.go", "internal/command/worker.go"}, []string{"queueCommand", "workerCommand"}},
	}
}

// TestAFeatureIsDeletedWithItsDirectoryAndALineOfTheCommandTable builds the commands without each feature. A feature
// that something else needs does not compile.
func TestAFeatureIsDeletedWithItsDirectoryAndALineOfTheCommandTable(t *testing.T) {
	if !nightly.On() {
		t.Skip("compiles the commands once for each feature: only in the nightly run")
	}
	all := features()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			f := all[name]
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			text, err := json.Marshal(map[string]any{"Replace": f.without(t)})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "./internal/command").CombinedOutput(); err != nil {
				t.Errorf("something else needs %s: %v\n%s", name, err, out)
			}
		})
	}
}

// TestAFeatureIsImportedByItsCommandsOnly finds in every run what the nightly one would not compile.
func TestAFeatureIsImportedByItsCommandsOnly(t *testing.T) {
	for feature, f := range features() {
		for dir, files := range sources(t) {
			if f.has(dir) || strings.HasPrefix(dir, "internal/testing/") || strings.HasPrefix(dir, "internal/dev/") {
				continue
			}
			for name, file := range files {
				if slices.ContainsFunc(f.files, func(pattern string) bool { own, _ := filepath.Match(pattern, name); return own }) {
					continue
				}
				for _, spec := range file.Imports {
					if local, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ok && f.has(local) {
						t.Errorf("%s imports %s: without the feature %s it would not compile", name, local, feature)
					}
				}
			}
		}
	}
}

// has reports whether a package is below one of the feature's directories.
func (f feature) has(dir string) bool {
	return slices.ContainsFunc(f.dirs, func(own string) bool { return dir == own || strings.HasPrefix(dir, own+"/") })
}

// without returns the overlay of the go command that deletes a feature.
func (f feature) without(t *testing.T) map[string]string {
	t.Helper()
	replaced := map[string]string{}
	remove := func(pattern string) {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, name := range found {
			replaced[absolute(t, name)] = ""
		}
	}
	for _, pattern := range f.files {
		remove(pattern)
	}
	for _, dir := range f.dirs {
		err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(name) == ".go" && !entry.IsDir() {
				replaced[absolute(t, name)] = ""
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const table = "internal/command/app.go"
	var remaining []string
	removed := 0
	for _, line := range strings.SplitAfter(read(t, table), "\n") {
		if slices.ContainsFunc(f.commands, func(c string) bool { return strings.Contains(line, c+"(") }) {
			removed++
			continue
		}
		remaining = append(remaining, line)
	}
	if removed != len(f.commands) {
		t.Fatalf("%s has %d lines for %q", table, removed, f.commands)
	}
	own := filepath.Join(t.TempDir(), "app.go")
	if err := os.WriteFile(own, []byte(strings.Join(remaining, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced[absolute(t, table)] = own
	return replaced
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
