package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/world"
)

// TestDoctorRepairsOnlyItsOwnDirectories: the permissions of other directories are
// somebody's decision.
func TestDoctorRepairsOnlyItsOwnDirectories(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes to every directory")
	}
	home := t.TempDir()
	cache, state := filepath.Join(home, ".cache"), filepath.Join(home, ".local/state/millhand")
	mirrors := filepath.Join(cache, "millhand", "mirrors")
	for _, dir := range []string{mirrors, state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := world.World{Now: time.Now, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	statuses := func() string {
		var all []string
		for _, c := range dataDirectories(w) {
			all = append(all, c.Name+" "+c.Status)
			if c.exit != 0 {
				t.Errorf("%s fails the run", c.Name)
			}
		}
		return strings.Join(all, ", ")
	}
	mode := func(dir string, mode os.FileMode) {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	repair := func() (fixes []string) {
		for _, c := range dataDirectories(w) {
			fixes = append(fixes, c.Fix)
			if c.repair == nil {
				continue
			}
			if done, err := c.repair(); err != nil || !strings.HasSuffix(done, " writable") {
				t.Errorf("%s: %q, %v", c.Name, done, err)
			}
		}
		return fixes
	}

	mode(mirrors, 0o500)
	mode(state, 0o055)
	if got := statuses(); got != "mirrors warning, daily budgets warning" {
		t.Errorf("found %s", got)
	}
	if fixes := repair(); !strings.HasPrefix(fixes[0], "chmod u+rwx "+mirrors+", as --fix does; or set MILLHAND_CACHE_DIR") {
		t.Errorf("%q", fixes)
	}
	if got := statuses(); got != "mirrors ok, daily budgets ok" {
		t.Errorf("after the repair: %s", got)
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	if err := os.RemoveAll(filepath.Join(cache, "millhand")); err != nil {
		t.Fatal(err)
	}
	mode(cache, 0o500)
	defer mode(cache, 0o700)
	if fixes := repair(); fixes[0] != "set MILLHAND_CACHE_DIR to a directory that you can write to" {
		t.Errorf("%q", fixes)
	}
	if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestDoctorReportsWhatItCouldNotFix(t *testing.T) {
	broken := errors.New("broken")
	calls := 0
	examine := func() (*Examination, error) {
		calls++
		return &Examination{Checks: []Check{{Name: "a", Status: OK, Found: "fine"}, {Name: "b", Status: Warning, Fix: "do it"}, {Name: "c", Status: Warning, Found: "less"}, {Name: "d", Status: OK}}}, nil
	}
	before := &Examination{Checks: []Check{
		{Name: "a", repair: func() (string, error) { return "repaired", nil }},
		{Name: "b", repair: func() (string, error) { return "", broken }},
		{Name: "c", repair: func() (string, error) { return "repaired", nil }},
		{Name: "d"},
	}}
	after, err := before.fix(examine)
	if err != nil || calls != 1 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	var got []string
	for _, c := range after.Checks {
		got = append(got, strings.Join([]string{c.Name, c.Status, c.Found, c.Fix}, "|"))
	}
	if want := "a|fixed|repaired|; b|warning||not fixed: broken; do it; c|warning|less; repaired|; d|ok||"; strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	if same, err := after.fix(examine); same != after || err != nil || calls != 1 {
		t.Errorf("nothing to repair, and it examined again")
	}
}
