package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatricesExpandAsInGitHubActions(t *testing.T) {
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
			m, problems := read(t, head+"tasks: [{id: a, prompt: p, matrix: "+tt.matrix+"}]")
			if problems != nil {
				t.Fatal(problems)
			}
			got := m.Tasks[0].Matrix.Combinations()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("combinations (-want +got):\n%s", diff)
			}
		})
	}
}
