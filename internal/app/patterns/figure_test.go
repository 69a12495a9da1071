package patterns

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlantedSlips migrates the modules of the module cache off io/ioutil, as agents of
// different habits do it, and plants slips. All of them have to be listed, and few
// repositories.
func TestPlantedSlips(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	modules := cached(t)
	if len(modules) < 120 {
		t.Skipf("the module cache has %d modules that use io/ioutil; this test needs 120", len(modules))
	}
	rng := rand.New(rand.NewPCG(seed(t), 0)) //nolint:gosec // a repeatable sequence is wanted
	c := &Collector{}
	var slips []slip
	left := map[string]int{}
	for _, k := range slipKinds {
		left[k.name] = slipsOfAKind
	}
	before, after, modes := make([]map[string]string, len(modules)), make([]map[string]string, len(modules)), make([]map[string]string, len(modules))
	for i, m := range modules {
		before[i], modes[i] = m.files(t), map[string]string{}
		after[i] = habits[rng.IntN(len(habits))].migrate(t, rng, before[i])
	}
	hosts := map[int]bool{}                // modules with slips: first those that can have several
	for _, least := range []int{3, 2, 1} { // slips of a module
		for _, i := range rng.Perm(len(modules)) {
			if hosts[i] {
				continue
			}
			planted := plant(rng, modules[i].name, before[i], after[i], modes[i], left, least)
			slips = append(slips, planted...)
			hosts[i] = len(planted) > 0
		}
	}
	maps.DeleteFunc(hosts, func(_ int, has bool) bool { return !has })
	for i, m := range modules {
		c.Add(Change{Job: "migrate-" + m.name, Repo: m.name}, strings.NewReader(gitPatch(before[i], after[i], modes[i])))
	}
	r := c.Result()
	missed := 0
	for _, s := range slips {
		if !s.isListed(r) {
			missed++
			t.Errorf("not listed: %s in %s %s:%d", s.kind, s.repo, s.path, s.line)
		}
	}
	share := 100 * float64(r.ToRead) / float64(r.Repositories)
	t.Logf("%d repositories, %d patterns, %d of them common; %d slips, %d not listed; %d repositories to read (%.0f %%), %d with slips", r.Repositories, len(r.Patterns), r.Common, len(slips), missed, r.ToRead, share, len(hosts))
	if share > 20 {
		t.Errorf("%.1f %% of the repositories are to be read", share)
	}
	if len(slips) < 50 {
		t.Errorf("only %d slips", len(slips))
	}
	if file := os.Getenv("PATTERNS_LOG"); file != "" {
		var b strings.Builder
		for _, p := range r.Patterns {
			fmt.Fprintf(&b, "%d %d %v %s\n", p.Number, len(p.Repositories), p.Rare, p.Shape)
		}
		for _, g := range r.Reading {
			if !slices.ContainsFunc(slips, func(s slip) bool { return s.repo == g.Repo }) {
				for _, reason := range g.Reasons {
					fmt.Fprintf(&b, "READ %s %v\n", g.Repo, reason)
				}
			}
		}
		os.WriteFile(file, []byte(b.String()), 0o644)
	}
}

// module is a module of the cache.
type module struct{ name, dir string }

// cached returns the modules of the cache that use io/ioutil, one version of each, in the
// order of their names.
func cached(t *testing.T) []module {
	t.Helper()
	root := moduleCache(t)
	versions := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // what can't be read is no module
		}
		rel, _ := filepath.Rel(root, path)
		if rel == "cache" {
			return filepath.SkipDir
		}
		if name, _, ok := strings.Cut(rel, "@"); ok {
			versions[name] = max(versions[name], path)
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []module
	for name, dir := range versions {
		if m := (module{name, dir}); len(m.files(t)) > 0 {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.name, b.name) })
	return all
}

// files returns the Go files that use io/ioutil, and go.mod.
func (m module) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	filepath.WalkDir(m.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "vendor" || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), `"io/ioutil"`) || !strings.Contains(string(text), "ioutil.") || len(text) > 1<<20 {
			return nil //nolint:nilerr // as above
		}
		rel, _ := filepath.Rel(m.dir, path)
		all[filepath.ToSlash(rel)] = string(text)
		return nil
	})
	if len(all) == 0 {
		return nil
	}
	if text, err := os.ReadFile(filepath.Join(m.dir, "go.mod")); err == nil {
		all["go.mod"] = string(text)
	}
	return all
}
