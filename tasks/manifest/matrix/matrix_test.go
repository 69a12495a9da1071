package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// read reads a matrix, the value of the key matrix of a file, and returns what is wrong with it.
func read(t *testing.T, text string) (m Matrix, ok bool, problems []string) {
	t.Helper()
	src := &form.Source{File: problem.File{Name: "m.yaml", Found: problem.NewCollector()}}
	root, valid := src.Parse([]byte("matrix: " + text))
	if !valid {
		t.Fatal(src.Found.Err())
	}
	entries, _ := root.Entries()
	m, ok = Form.Read(entries[0])
	if err := src.Found.Err(); err != nil {
		problems = strings.Split(err.Error(), "\n")
	}
	return m, ok, problems
}

func TestMatricesExpandAsInGitHubActions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		matrix string
		want   []map[string]string
	}{
		{"none", `{}`, []map[string]string{{}}},
		{"one key", `{a: [1, 1.10, true, x y, 0x1F, 2024-01-02]}`, []map[string]string{
			{"a": "1"}, {"a": "1.10"}, {"a": "true"}, {"a": "x y"}, {"a": "0x1F"}, {"a": "2024-01-02"},
		}},
		{"the first key varies slowest", `{b: [1, 2], a: [x, y]}`, []map[string]string{
			{"b": "1", "a": "x"}, {"b": "1", "a": "y"}, {"b": "2", "a": "x"}, {"b": "2", "a": "y"},
		}},
		{"exclude", `{a: [1, 2], b: [x, y], exclude: [{a: 1, b: x}, {b: y, a: 2}]}`, []map[string]string{{"a": "1", "b": "y"}, {"a": "2", "b": "x"}}},
		{"exclude by one key", `{a: [1, 2], b: [x, y], exclude: [{a: 1}, {b: y}]}`, []map[string]string{{"a": "2", "b": "x"}}},
		{"include overrides what include added, and no value of a key", `{a: [1], include: [{b: x}, {a: 1, b: y}, {a: 2, b: z}]}`, []map[string]string{{"a": "1", "b": "y"}, {"a": "2", "b": "z"}}},
		{"include alone", `{include: [{a: 1}, {b: 2}]}`, []map[string]string{{"a": "1"}, {"b": "2"}}},
		{
			"the example of GitHub's documentation",
			`{fruit: [apple, pear], animal: [cat, dog], include: [{color: green}, {color: pink, animal: cat}, {fruit: apple, shape: circle}, {fruit: banana}, {fruit: banana, animal: cat}]}`,
			[]map[string]string{
				{"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
				{"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
				{"fruit": "pear", "animal": "cat", "color": "pink"},
				{"fruit": "pear", "animal": "dog", "color": "green"},
				{"fruit": "banana"},
				{"fruit": "banana", "animal": "cat"},
			},
		},
		{"include brings back what exclude took", `{a: [1, 2], exclude: [{a: 1}], include: [{a: 1, b: x}]}`, []map[string]string{{"a": "2"}, {"a": "1", "b": "x"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, ok, problems := read(t, tt.matrix)
			if problems != nil || !ok {
				t.Fatal(problems)
			}
			got := m.Combinations()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("combinations (-want +got):\n%s", diff)
			}
		})
	}
}

// A value with a mistake is left out, so that one mistake has one problem.
func TestMistakesInAMatrix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		names    string
		size     int
		problems []string
	}{
		"5":                      {"", 0, []string{`m.yaml:1:9: "matrix" must be a mapping, not the number 5; write KEY: VALUE`}},
		"{a b: [1], c: [2]}":     {"c", 1, []string{`m.yaml:1:10: invalid name "a b"; use letters, digits, _ and -, starting with a letter`}},
		"{a: 5, b: [1, 2]}":      {"b", 2, []string{`m.yaml:1:13: "a" must be a list, not the number 5; put it in brackets: [5]`}},
		"{a: [], b: [1]}":        {"b", 1, []string{`m.yaml:1:13: "a" has no values; add at least one, or remove the key`}},
		"{a: [1, 1, 2]}":         {"a", 2, []string{`m.yaml:1:17: duplicate value "1" in "a"; keep one of them`}},
		"{a: [1, [2], 3]}":       {"a", 2, []string{`m.yaml:1:17: entry 2 of "a" must be a string, number or boolean, not a list; write one value`}},
		"{include: 5}":           {"", 0, []string{`m.yaml:1:19: "include" must be a list, not the number 5; put it in brackets: [5]`}},
		"{include: [5, {a: 1}]}": {"a", 0, []string{`m.yaml:1:20: entry 1 of "include" must be a mapping, not the number 5; write KEY: VALUE`}},
		"{include: [{}]}":        {"", 0, []string{`m.yaml:1:20: entry 1 of "include" is empty; remove it`}},
		"{include: [{a: [1]}, {a b: 1}, {c: 2}]}": {"c", 0, []string{
			`m.yaml:1:24: "a" must be a string, number or boolean, not a list; write one value`, `m.yaml:1:31: invalid name "a b"; use letters, digits, _ and -, starting with a letter`,
		}},
		"{colour: [red, blue], exclude: [{color: red}, {colour: rod}, {x: 1}, {colour: blue}]}": {"colour", 2, []string{
			`m.yaml:1:42: exclude: unknown matrix key "color"; did you mean "colour"?`, `m.yaml:1:64: exclude: unknown value "rod" of "colour"; did you mean "red"?`, `m.yaml:1:71: exclude: unknown matrix key "x"; its keys: colour`,
		}},
	} {
		m, ok, problems := read(t, text)
		if diff := cmp.Diff(want.problems, problems); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
		if got := strings.Join(m.Names(), " "); got != want.names || m.Size() != want.size || ok != strings.HasPrefix(text, "{") {
			t.Errorf("%s: keys %s, size %d, read: %t", text, got, m.Size(), ok)
		}
		for _, c := range m.Include {
			if len(c.of) == 0 || len(c.entries) != len(c.of) {
				t.Errorf("%s: an entry of include without values", text)
			}
		}
	}
}

// mapping is a mapping with so many keys, each with the value.
func mapping(keys int, value string) string {
	all := make([]string, keys)
	for i := range all {
		all[i] = fmt.Sprintf("k%d: %s", i, value)
	}
	return "{" + strings.Join(all, ", ") + "}"
}

func TestLimitsOfAMatrix(t *testing.T) {
	t.Parallel()
	if m, ok, problems := read(t, mapping(maxKeys, "[1]")); !ok || problems != nil || m.Size() != 1 {
		t.Errorf("%t, %q", ok, problems)
	}
	const split = "the matrix has more than 50 keys; split the task"
	if m, ok, problems := read(t, mapping(maxKeys+1, "[1]")); ok || len(problems) != 1 || !strings.HasSuffix(problems[0], split) || len(m.Names()) > 0 {
		t.Errorf("%t, %q", ok, problems)
	}
	const long = `entry 1 of "include" has more than 50 keys; split the task`
	if m, _, problems := read(t, "{include: ["+mapping(maxKeys+1, "1")+"]}"); len(problems) != 1 || !strings.HasSuffix(problems[0], long) || len(m.Include) > 0 {
		t.Errorf("%q, %d", problems, len(m.Include))
	}
	// The number of combinations is not multiplied beyond what a plan may have.
	if m, _, _ := read(t, mapping(maxKeys, "[1, 2]")); m.Size() != tasks.MaxJobs+1 {
		t.Errorf("%d combinations", m.Size())
	}
}

func TestKeysOfAMatrixAreInOrder(t *testing.T) {
	t.Parallel()
	m, _, _ := read(t, "{b: [1], a: [2, 3], include: [{c: 1}, {a: 2, d: 5}]}")
	if got := m.Names(); !slices.Equal(got, []string{"a", "b", "c", "d"}) || m.Size() != 2 || m.Value.Node == nil {
		t.Errorf("%q, %d", got, m.Size())
	}
	if m, _, _ := read(t, "{include: [{c: 1}]}"); m.Size() != 0 || len(m.Combinations()) != 1 {
		t.Errorf("%d, %v", m.Size(), m.Combinations())
	}
}
