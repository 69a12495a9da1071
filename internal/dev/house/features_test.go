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

// feature is what can be deleted without the rest: directories, the files of its commands, and its lines in the tables of
// commands.
type feature struct {
	dirs, files []string // files may be patterns
	lines       []string // texts of the lines, besides those that import the directories
	users       string   // the feature that uses this one, and is deleted with it; "" for none
}

// features lists the features beside the mission. Of evidence, the verification is a feature: the seal is a file that
// a run writes, as its reports are. A feature may leave its keys in manifests, its events, its fields of the report and
// the variables of its texts; the code that does its work is deleted.
func features() map[string]feature {
	return map[string]feature{
		"distill":  {dirs: []string{"internal/app/distill"}, files: []string{"internal/command/distill.go"}, lines: []string{"distillCommand("}},
		"doctor":   {dirs: []string{"internal/app/doctor"}, files: []string{"internal/command/doctor*.go"}, lines: []string{"doctorCommand("}},
		"evidence": {dirs: []string{"internal/app/audit"}, files: []string{"internal/command/verifyreport.go"}, lines: []string{"verifyReportCommand("}},
		"follow":   {dirs: []string{"internal/app/follow"}, files: []string{"internal/command/follow.go"}, lines: []string{"followCommand("}},
		"forecast": {dirs: []string{"internal/app/forecast"}, lines: []string{"forecast.Estimate"}},
		"patterns": {dirs: []string{"internal/app/patterns"}, files: []string{"internal/command/patterns.go"}, lines: []string{"patternsCommand(", "compared.PullTexts"}, users: "distill"},
		"queue":    {dirs: []string{"internal/app/queue"}, files: []string{"internal/command/queue*.go", "internal/command/worker.go"}, lines: []string{"queueCommand(", "workerCommand("}},
		"waves":    {dirs: []string{"internal/app/waves"}, lines: []string{"waves.Rollouts"}},
	}
}

// tables returns the files of the tables of commands.
func tables() []string { return []string{"internal/command/app.go", "internal/command/report.go"} }

// with returns a feature together with the one that uses it.
func (f feature) with(user feature) feature {
	f.dirs, f.files, f.lines = slices.Concat(f.dirs, user.dirs), slices.Concat(f.files, user.files), slices.Concat(f.lines, user.lines)
	return f
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
			f := all[name].with(all[all[name].users])
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
	all := features()
	for feature, f := range all {
		f = f.with(all[f.users])
		for dir, files := range sources(t) {
			if f.has(dir) || strings.HasPrefix(dir, "internal/testing/") || strings.HasPrefix(dir, "internal/dev/") {
				continue
			}
			for name, file := range files {
				if slices.Contains(tables(), name) || slices.ContainsFunc(f.files, func(pattern string) bool { own, _ := filepath.Match(pattern, name); return own }) {
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
	f.shorten(t, replaced)
	return replaced
}

// shorten replaces the tables of commands by those without the lines of the feature.
func (f feature) shorten(t *testing.T, replaced map[string]string) {
	t.Helper()
	removed := map[string]bool{}
	for _, table := range tables() {
		var remaining strings.Builder
		for line := range strings.Lines(read(t, table)) {
			imported, imports := strings.CutPrefix(strings.Trim(line, "\t\n\""), module+"/")
			i := slices.IndexFunc(f.lines, func(text string) bool { return strings.Contains(line, text) })
			switch {
			case i >= 0:
				removed[f.lines[i]] = true
			case !imports || !f.has(imported):
				remaining.WriteString(line)
			}
		}
		own := filepath.Join(t.TempDir(), filepath.Base(table))
		if err := os.WriteFile(own, []byte(remaining.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[absolute(t, table)] = own
	}
	if len(removed) != len(f.lines) {
		t.Fatalf("%q has only the lines of %v", tables(), removed)
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
