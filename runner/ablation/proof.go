package ablation

import (
	"slices"

	"github.com/millhand/millhand/internal/ecosystem/testcases"
)

// Test is a test that a change adds, or a test file that it changes.
type Test struct {
	Path string
	Name string // of the case; "" for a file
	// Added is whether the change adds it.
	Added bool
	// Fails is whether it fails without the rest of the change; nil if that is not known.
	Fails *bool
}

// unit is what is proved by itself: a file with tests, with one of its new cases if it has several.
type unit struct {
	file int    // its index in the change
	name string // of the case; "" for all
}

// Tests returns the tests that the change adds or changes, in the order of paths and cases.
func (c *Change) Tests() (all []Test) {
	for _, u := range c.units() {
		all = append(all, Test{Path: c.files[u.file].Path, Name: u.name, Added: u.name != "" || c.files[u.file].Before.Mode == Absent})
	}
	return all
}

func (c *Change) units() (all []unit) {
	for i := range c.files {
		f := &c.files[i]
		if !c.hasTests(i) {
			continue
		}
		added := f.newCases()
		if len(added) == 0 {
			all = append(all, unit{file: i})
		}
		for _, name := range added {
			all = append(all, unit{i, name})
		}
	}
	return all
}

// hasTests reports whether a file has tests that are proved. Files in directories of tests without a test's name and cases
// are what tests use, such as data.
func (c *Change) hasTests(file int) bool {
	f := &c.files[file]
	test := slices.ContainsFunc(f.hunks, func(i int) bool { return c.Hunks[i].Test })
	return test && f.After.Mode != Absent && (testcases.Named(f.Path) || len(testcases.Cases(f.Path, f.After.Data)) > 0)
}

// newCases returns the names of the cases that the change adds to a file.
func (f *changed) newCases() (added []string) {
	before := testcases.Cases(f.Path, f.Before.Data)
	for _, name := range testcases.Cases(f.Path, f.After.Data) {
		if name != "" && !slices.Contains(before, name) && !slices.Contains(added, name) {
			added = append(added, name)
		}
	}
	return added
}

// MaxProofs returns the maximum number of trials that prove the tests.
func (c *Change) MaxProofs() int {
	units := c.units()
	if len(units) == 0 {
		return 0
	}
	if len(units) == 1 {
		return 1
	}
	n := 1 + 2*len(units)
	for i := range c.files {
		if c.hasTests(i) {
			n += 2
		}
	}
	return n
}

// Count returns the number of hunks that are searched, of which an added file is one.
func (c *Change) Count() (n int) {
	for _, group := range c.groups() {
		if c.isFile(group) {
			group = group[:1]
		}
		n += len(group)
	}
	return n
}

// Changes reports whether the change has something that its tests could prove.
func (c *Change) Changes() bool { return len(c.code()) > 0 }

// Prove finds out which tests fail without the rest of the change, each without the other tests of the change. A test that can't
// be separated from the others, because it does not pass then on the changed files either, is judged with its file, or remains unjudged.
// The trier reports a failure only of commands that pass on the base without the tests.
func (c *Change) Prove(try Trier) []Test {
	tests := c.Tests()
	if len(tests) == 0 {
		return nil
	}
	p := &prover{change: c, try: try, files: map[int]*bool{}}
	failed, ok := p.run(unit{file: -1}, true)
	switch {
	case !ok:
		return tests
	case !failed || len(tests) == 1:
		for i := range tests {
			tests[i].Fails = new(failed)
		}
		return tests
	}
	for i, u := range c.units() {
		if tests[i].Fails, ok = p.prove(u); !ok {
			break
		}
	}
	return tests
}

type prover struct {
	change *Change
	try    Trier
	files  map[int]*bool // results of files, of whose cases one can't be separated
}

// prove returns whether a unit fails without the change; nil if that can't be known. ok is false if the search has to end.
func (p *prover) prove(u unit) (fails *bool, ok bool) {
	failed, ok := p.run(u, true)
	if !ok || !failed {
		return known(false, ok), ok
	}
	if failed, ok = p.run(u, false); !ok || !failed {
		return known(true, ok), ok
	}
	if u.name == "" {
		return nil, true
	}
	if fails, tried := p.files[u.file]; tried {
		return fails, true
	}
	fails, ok = p.prove(unit{file: u.file})
	p.files[u.file] = fails
	return fails, ok
}

// known returns a result; nil if it was not found out.
func known(result, ok bool) *bool {
	if !ok {
		return nil
	}
	return &result
}

// run tries a unit on the base or on the changed files.
func (p *prover) run(u unit, base bool) (failed, ok bool) {
	by, ok := p.try(p.change.only(u, base), func(int) []Tree { return nil })
	return by != "", ok
}

// only returns the files of the change, or of the base, with the tests of a unit, or all for file -1, and with what
// tests use.
func (c *Change) only(u unit, base bool) Tree {
	without := Set{}
	for i, h := range c.Hunks {
		other := h.Test && u.file >= 0 && h.file != u.file && c.hasTests(h.file)
		if other || base && !h.Test {
			without[i] = true
		}
	}
	tree := c.Tree(without)
	if u.file < 0 || u.name == "" {
		return tree
	}
	others := slices.DeleteFunc(c.files[u.file].newCases(), func(name string) bool { return name == u.name })
	e := &tree[u.file]
	text, _ := testcases.Disable(e.Path, string(e.Data), func(name string) bool { return slices.Contains(others, name) })
	e.Data = []byte(text)
	return tree
}
