// Package matrix reads the matrix of a task and makes its combinations. It makes no jobs.
package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Matrix spells one task out into several, as GitHub Actions does: every
// combination of its keys' values, without those that an entry of exclude
// matches. An entry of include adds its other values to each combination that
// it agrees with; without one, it is one more combination.
type Matrix struct {
	Value   form.Value
	axes    []axis
	Include []cells
	exclude []cells
}

// axis is one key of a matrix and its values, in the order of the file.
type axis struct {
	key    string
	values []string
}

// cells are some keys with a value each.
type cells struct {
	entries []form.Text
	of      map[string]string
}

const (
	maxCells = 1_000 // entries of include or exclude
	maxKeys  = 50    // of a matrix, or of one of these entries
)

var (
	// Form reads the key matrix of a task.
	Form      = form.Of[Matrix]{Type: matrixType(), Read: readMatrix}
	cellsForm = form.Of[cells]{Type: form.Type{Name: "map", Names: "NAME", Elem: new(form.ScalarType())}, Read: readCells}
)

// matrixType is a map of lists with keys of its own.
func matrixType() form.Type {
	t := form.Type{Name: "map", Names: "NAME", Elem: &form.Type{Name: "list", Elem: new(form.ScalarType())}}
	t.Keys = form.TypeOf((*Matrix).keys).Keys
	return t
}

// readMatrix reads a task's matrix.
func readMatrix(v form.Value) (Matrix, bool) {
	m := Matrix{Value: v}
	own := m.keys()
	entries, ok := v.Entries()
	for _, e := range entries {
		if i := own.Index(e.Key.Value); i >= 0 {
			own[i].Read(e)
			continue
		}
		if values, ok := readAxisValues(e); ok && e.Named() {
			m.axes = append(m.axes, axis{e.Key.Value, values})
		}
	}
	if len(entries) > maxKeys {
		v.Problem(fmt.Sprintf("the matrix has more than %d keys", maxKeys), "split the task")
		return Matrix{}, false
	}
	m.checkExclude()
	return m, ok
}

// readAxisValues reads the values of one key: at least one, none twice.
func readAxisValues(v form.Value) ([]string, bool) {
	texts, ok := form.List(form.Value.Scalar)(v)
	if !ok {
		return nil, false
	}
	if len(texts) == 0 {
		v.Problem(v.Label+" has no values", "add at least one, or remove the key")
		return nil, false
	}
	seen := map[string]bool{}
	var values []string
	for _, t := range texts {
		if seen[t.S] {
			t.Problem(fmt.Sprintf("duplicate value %s in %s", problem.Quote(t.S), v.Label), "keep one of them")
			continue
		}
		seen[t.S] = true
		values = append(values, t.S)
	}
	return values, true
}

// readCells reads one entry of include or exclude.
func readCells(v form.Value) (cells, bool) {
	entries, ok := v.Entries()
	c := cells{of: map[string]string{}}
	for _, e := range entries {
		if t, ok := e.Scalar(); ok && e.Named() {
			c.entries = append(c.entries, t)
			c.of[e.Key.Value] = t.S
		}
	}
	switch {
	case ok && len(entries) == 0:
		v.Problem(v.Label+" is empty", "remove it")
	case len(entries) > maxKeys:
		v.Problem(fmt.Sprintf("%s has more than %d keys", v.Label, maxKeys), "split the task")
		return cells{}, false
	}
	return c, ok && len(c.of) > 0
}

// checkExclude records entries of exclude that can match nothing, which are
// typing mistakes that would let a job run.
func (m Matrix) checkExclude() {
	keys := make([]string, len(m.axes))
	for i, a := range m.axes {
		keys[i] = a.key
	}
	for _, x := range m.exclude {
		for _, t := range x.entries {
			i := slices.Index(keys, t.Key.Value)
			switch {
			case i < 0:
				t.KeyProblem(fmt.Sprintf("exclude: unknown matrix key %s", t.Label), t.Src.Found.Suggest(t.Key.Value, keys, "its keys: "))
			case !slices.Contains(m.axes[i].values, t.S):
				t.Problem(fmt.Sprintf("exclude: unknown value %s of %s", problem.Quote(t.S), t.Label), t.Src.Found.Suggest(t.S, m.axes[i].values, "its values: "))
			}
		}
	}
}

// Size is the number of combinations of the keys, or more than maxJobs if it
// is above that.
func (m Matrix) Size() int {
	if len(m.axes) == 0 {
		return 0
	}
	n := 1
	for _, a := range m.axes {
		if n *= len(a.values); n > tasks.MaxJobs {
			return tasks.MaxJobs + 1
		}
	}
	return n
}

// Combinations returns one map for each job: the first key varies slowest, and
// what include adds comes last. A task without a matrix has one combination of
// nothing.
func (m Matrix) Combinations() []map[string]string {
	if len(m.axes) == 0 && len(m.Include) == 0 {
		return []map[string]string{{}}
	}
	all := slices.DeleteFunc(m.product(), func(c map[string]string) bool {
		return slices.ContainsFunc(m.exclude, func(x cells) bool { return agree(x.of, c) })
	})
	regular := len(all)
	for _, inc := range m.Include {
		fixed := maps.Clone(inc.of)
		maps.DeleteFunc(fixed, func(k, _ string) bool { return !m.has(k) })
		added := false
		for i := range regular {
			if agree(fixed, all[i]) {
				maps.Copy(all[i], inc.of)
				added = true
			}
		}
		if !added {
			all = append(all, maps.Clone(inc.of))
		}
	}
	return all
}

// Names returns the keys that any of the combinations has, in order.
func (m Matrix) Names() []string {
	all := map[string]bool{}
	for _, a := range m.axes {
		all[a.key] = true
	}
	for _, inc := range m.Include {
		for k := range inc.of {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (m Matrix) has(key string) bool {
	return slices.ContainsFunc(m.axes, func(a axis) bool { return a.key == key })
}

// product returns every combination of the keys' values.
func (m Matrix) product() []map[string]string {
	if len(m.axes) == 0 {
		return nil
	}
	all := []map[string]string{{}}
	for _, a := range m.axes {
		var next []map[string]string
		for _, c := range all {
			for _, v := range a.values {
				longer := maps.Clone(c)
				longer[a.key] = v
				next = append(next, longer)
			}
		}
		all = next
	}
	return all
}

// agree reports whether c has all the values of want.
func agree(want, c map[string]string) bool {
	for k, v := range want {
		if got, ok := c[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func (m *Matrix) keys() form.Table {
	return form.Table{
		{Name: "include", Field: form.Into(&m.Include, form.UpTo(maxCells, form.ListOf(cellsForm))), Doc: "Combinations to add, or values to add to the combinations that they match"},
		{Name: "exclude", Field: form.Into(&m.exclude, form.UpTo(maxCells, form.ListOf(cellsForm))), Doc: "Combinations to leave out"},
	}
}
