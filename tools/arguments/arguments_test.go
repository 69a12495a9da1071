package arguments_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/arguments"
	"github.com/millhand/millhand/tools/cut"

	"github.com/google/go-cmp/cmp"
)

// sample has an argument of every kind.
type sample struct {
	Name  string      `json:"name" jsonschema:"a text"`
	Count int         `json:"count,omitempty" jsonschema:"a number"`
	Exact bool        `json:"exact,omitempty"`
	Many  []string    `json:"many,omitempty"`
	Parts []component `json:"parts,omitempty"`
}

type component struct {
	Size int `json:"size"`
}

func decode(input string) (sample, error) {
	var got sample
	_, err := arguments.Of[sample]().Decode(json.RawMessage(input), &got)
	return got, err
}

func TestValidArguments(t *testing.T) {
	deep := `{"name": "` + strings.Repeat(`[{\"`, 200) + `"}`
	tests := []struct {
		name, input string
		want        sample
	}{
		{"all of them", `{"name": "a", "count": 3, "exact": true, "many": ["x", "y"]}`, sample{Name: "a", Count: 3, Exact: true, Many: []string{"x", "y"}}},
		{"white space around", " \n{\"name\": \"a\"}\t ", sample{Name: "a"}},
		{"a number as a string", `{"name": "a", "count": "3"}`, sample{Name: "a", Count: 3}},
		{"a number with a sign as a string", `{"name": "a", "count": "-3"}`, sample{Name: "a", Count: -3}},
		{"a number with white space", `{"name": "a", "count": " 3\n"}`, sample{Name: "a", Count: 3}},
		{"a boolean of Python", `{"name": "a", "exact": "True"}`, sample{Name: "a", Exact: true}},
		{"empty text for what is optional and no text", `{"name": "", "count": "", "exact": "", "many": ""}`, sample{}},
		{"a boolean as a string", `{"name": "a", "exact": "true"}`, sample{Name: "a", Exact: true}},
		{"null for what is optional", `{"name": "a", "count": null, "exact": null, "many": null}`, sample{Name: "a"}},
		{"a whole number with a point", `{"name": "a", "count": 3.0}`, sample{Name: "a", Count: 3}},
		{"with an exponent", `{"name": "a", "count": 3e2}`, sample{Name: "a", Count: 300}},
		{"as a string with a point", `{"name": "a", "count": "3.0"}`, sample{Name: "a", Count: 3}},
		{"in a list of objects", `{"name": "a", "parts": [{"size": "1"}, {"size": 2.0}]}`, sample{Name: "a", Parts: []component{{1}, {2}}}},
		{"the largest number", `{"name": "a", "count": 9223372036854775807}`, sample{Name: "a", Count: 9223372036854775807}},
		{"a string stays one, whatever it holds", `{"name": "3.0"}`, sample{Name: "3.0"}},
		{"brackets in a string do not nest", deep, sample{Name: strings.Repeat(`[{"`, 200)}},
		{"of two of a name the last", `{"name": "a", "name": "b"}`, sample{Name: "b"}},
		{"an unknown one", `{"name": "a", "title": "b", "parts": [{"size": 1, "x": 2}]}`, sample{Name: "a", Parts: []component{{1}}}},
		{"escapes", `{"name": "a\u00e9\ud83d\ude42\n"}`, sample{Name: "aé🙂\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode(tt.input)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	const fit = "invalid arguments: "
	tests := []struct{ name, input, want string }{
		{"nothing", ``, fit + "missing required argument name"},
		{"null", `null`, fit + "missing required argument name"},
		{"one is missing", `{"count": 3}`, fit + "missing required argument name"},
		{"one is null", `{"name": null}`, fit + "name: expected string, got null"},
		{"one is written in another case", `{"name": "a", "Name": "b"}`, fit + "unknown argument Name"},
		{"with an underscore", `{"name": "a", "ma_ny": ["b"]}`, fit + "unknown argument ma_ny"},
		{"several faults", `{"title": "b", "count": true}`, fit + "count: expected integer, got boolean; missing required argument name; unknown argument title"},
		{"a number for a string", `{"name": 3}`, fit + "name: expected string, got number"},
		{"a list for a string", `{"name": ["a"]}`, fit + "name: expected string, got array"},
		{"a string for a list", `{"name": "a", "many": "x"}`, fit + "many: expected array, got string"},
		{"a word for a number", `{"name": "a", "count": "three"}`, fit + "count: expected integer, got string"},
		{"another notation of a number", `{"name": "a", "count": "0x10"}`, fit + "count: expected integer, got string"},
		{"a broken number", `{"name": "a", "count": 2.5}`, fit + "count: expected integer, got number"},
		{"another word for true", `{"name": "a", "exact": "yes"}`, fit + "exact: expected boolean, got string"},
		{"a number for a boolean", `{"name": "a", "exact": 1}`, fit + "exact: expected boolean, got number"},
		{"a number that is too large", `{"name": "a", "count": 9223372036854775808}`, fit + "count: number 9223372036854775808 is out of range"},
		{"far too large", `{"name": "a", "count": 1e30}`, fit + "count: number 1e30 is out of range"},
		{"too large to be computed with", `{"name": "a", "count": 1e999999999}`, fit + "count: number 1e999999999 is out of range"},
		{"cut off", `{"name": "a", "cou`, "arguments are not valid JSON: unexpected EOF; they may have been truncated, resend the call"},
		{"cut off in a string", `{"name": "a`, "arguments are not valid JSON: unexpected EOF; they may have been truncated, resend the call"},
		{"no JSON", `name: a`, "arguments are not valid JSON: invalid character 'a' in literal null (expecting 'u'); they may have been truncated, resend the call"},
		{"a list", `[{"name": "a"}]`, "arguments must be a JSON object, not an array"},
		{"a string", `"{\"name\": \"a\"}"`, "arguments must be a JSON object, not a string"},
		{"a number", `3`, "arguments must be a JSON object, not a number"},
		{"a boolean", `true`, "arguments must be a JSON object, not a boolean"},
		{"two values", `{"name": "a"} {"name": "b"}`, "unexpected data after the JSON object in the arguments; send exactly one object"},
		{"a bracket too many", `{"name": "a"}}`, "unexpected data after the JSON object in the arguments; send exactly one object"},
		{"words behind", `{"name": "a"} is it`, "unexpected data after the JSON object in the arguments; send exactly one object"},
		{"bytes that are no text", "{\"name\": \"a\xff\"}", "arguments are not valid UTF-8; resend the call"},
		{"2 MB", `{"name": "` + strings.Repeat("a", 2<<20) + `"}`, "arguments too large: 2097164 bytes, maximum 1048576"},
		{"nested 100 deep", `{"name": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "arguments are nested too deeply: maximum depth 64"},
		{"nested a million deep", strings.Repeat("[", 1_000_000), "arguments are nested too deeply: maximum depth 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := decode(tt.input); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestUnknownArgumentsAreIgnored: models add those of other agents' tools.
func TestUnknownArgumentsAreIgnored(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	out := s.Raw("bash", `{"command": "echo one", "run_in_background": false, "b": 1}`)
	s.Want(out, tools.Completed, "one\n\n\n(ignored unknown argument b, run_in_background)")
	out = s.Raw("todowrite", `{"todos": [{"content": "a", "status": "pending", "id": "1"}]}`)
	s.Want(out, tools.Completed, "(ignored unknown argument todos.0.id)")
	s.Want(s.Raw("write", `{"filePath": "x", "text": "a"}`), tools.Failed, "missing required argument content; unknown argument text")
	s.Want(s.Raw("edit", `{"filePath": "x", "oldString": "", "newString": "a", "replace_all": true}`), tools.Failed, "unknown argument replace_all")
	s.Want(s.Raw("read", `{"filePath": "nosuch", "x": 1}`), tools.Failed, "ignored unknown argument x")
}

func TestCallsWithInvalidArgumentsDoNothing(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	before := s.Tree()
	for _, spec := range s.Tools.Offer(s.Env.Profile) {
		for _, input := range []string{`{"`, `[]`, `{"no_such": 1}`, "\xff", strings.Repeat(" ", 3) + `{} {}`, `{"filePath": 1, "command": 1, "x": 1}`} {
			if spec.Schema["required"] == nil && strings.HasSuffix(input, "1}") {
				continue // unknown arguments are ignored
			}
			out := s.Raw(spec.Name, input)
			s.Want(out, tools.Failed, "rgument")
			if out.Decision != nil {
				t.Errorf("%s %s: decided %+v", spec.Name, input, out.Decision)
			}
		}
	}
	s.Unchanged(before)
}

func TestATypeWithoutASchema(t *testing.T) {
	if _, err := arguments.Of[struct{ C chan int }]().Decode(nil, nil); err == nil || !strings.Contains(err.Error(), "invalid definition") {
		t.Errorf("got %v", err)
	}
}

// FuzzArguments throws anything at the decoder: it returns a value or with
// an error in bounds.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"name": "a", "count": "3"}`, `{"name": null}`, `{"parts": [{"size": 1e400}]}`, "[[[[", `{"many": {"": []}}`, `{"name": "\ud800"}`, "\xff", `{"count": 9223372036854775808, "name": ""}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		got, err := decode(input)
		if err != nil && (err.Error() == "" || !utf8.ValidString(cut.Message(err.Error()))) {
			t.Errorf("an error of no words: %q", err)
		}
		if err == nil && !utf8.ValidString(got.Name) {
			t.Errorf("invalid text: %q", got.Name)
		}
	})
}
