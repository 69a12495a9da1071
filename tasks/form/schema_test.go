package form

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/text/schema"
	"github.com/millhand/millhand/tasks/problem"
)

// An editor with the schema and the reader accept the same values. Those that only the reader refuses are marked with a !: JSON Schema
// can't describe the bounds of texts.
func TestSchemasAcceptWhatIsRead(t *testing.T) {
	fields := map[string]Field{
		"string":   Into(new(string), String),
		"boolean":  Checked(Bool),
		"integer":  Checked(Between(2, 5)),
		"positive": Checked(Positive()),
		"duration": Checked(Duration),
		"bytes":    Checked(Bytes),
		"USD":      Checked(Cost),
		"enum":     Checked(Enum("none", "ssh")),
		"list":     Checked(ListOf(Between(1, 3))),
		"one":      Checked(OrOne(Of[Text]{ScalarType(), Value.Scalar})),
		"map":      Checked(MapOf("NAME", Bool.Type, readFlags)),
		"mapping":  Checked(Mapping((*box).flatKeys)),
		"schema":   Checked(Schema),
	}
	for name, texts := range map[string][]string{
		"string":   {"a", "'5'", "5", "true", "null", "[a]", "!' '"},
		"boolean":  {"true", "False", "yes", "1", "{}"},
		"integer":  {"2", "5", "1", "6", "'3'", "2.5", "null"},
		"positive": {"1", "9223372036854775807", "0", "-1"},
		"duration": {"90s", "1h30m", "+5m", "0.5h", "5", "2d", "1h 30m", "", "!0s"},
		"bytes":    {"500MB", "8GiB", "1.5TB", "1000kB", "8gb", "5", "GB", "!1kB"},
		"USD":      {"1.50", "2", "-1", "'1'", "!0"},
		"enum":     {"none", "ssh", "gpg", "5"},
		"list":     {"[]", "[1, 3]", "[4]", "1", "[[1]]"},
		"one":      {"make", "[make, 5, true]", "5", "{a: b}", "[[a]]"},
		"map":      {"{a: true}", "{}", "{a: 5}", "[a]"},
		"mapping":  {"{name: a, size: 3}", "{size: 3}", "{name: a, color: red}", "{name: a, tags: [red]}", "{name: a, tags: red}", "a"},
		"schema":   {"{}", "{type: object}", "5", "[a]"},
	} {
		compiled, err := schema.Compile(fields[name].schema())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range texts {
			text, bounded := strings.CutPrefix(text, "!")
			v := valueOf(t, text)
			doc, ok := v.JSON()
			data, err := json.Marshal(doc)
			if !ok || err != nil {
				t.Fatalf("%s: %s: %v", name, text, err)
			}
			parsed, err := schema.Parse(string(data))
			if err != nil {
				t.Fatal(err)
			}
			fields[name].Read(v)
			valid, read := compiled.Validate(parsed) == nil, problemsOf(v) == ""
			if valid != (read || bounded) || read && bounded {
				t.Errorf("%s: %s: the schema accepts it: %t, the reader: %t, %s", name, text, valid, read, problemsOf(v))
			}
		}
	}
}

// readFlags reads a map of booleans.
func readFlags(v Value) (map[string]bool, bool) {
	all := map[string]bool{}
	entries, ok := v.Entries()
	for _, e := range entries {
		all[e.Key.Value], _ = ReadBool(e)
	}
	return all, ok
}

func TestDocumentOfASchemaNamesItself(t *testing.T) {
	doc := SchemaDocument("box", new(box).keys()[:1])
	want := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:millhand:box:1", "title": "millhand box", "type": "object",
		"additionalProperties": false, "required": []any{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string", "description": "Name"}},
	}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSchemasOfMapsHaveTheirKnownNames(t *testing.T) {
	value := Type{Name: "boolean"}
	doc := Type{Name: "map", Names: "PERMISSION", Elem: &value}.schema()
	if diff := cmp.Diff(map[string]any{
		"type": "object", "additionalProperties": map[string]any{"type": "boolean"}, "properties": map[string]any{"git": map[string]any{"enum": []any{"none", "write"}}},
	}, doc); diff != "" {
		t.Errorf("permissions (-want +got)\n%s", diff)
	}
	doc = Type{Name: "map", Names: "NAME", Elem: &value, Keys: func() Table { return new(box).keys()[:1] }}.schema()
	if properties, ok := doc["properties"].(map[string]any); !ok || properties["name"] == nil || doc["additionalProperties"] == false {
		t.Errorf("known names: %v", doc)
	}
	if doc := (Type{Name: "mapping"}).schema(); len(doc) != 1 || doc["type"] != "object" {
		t.Errorf("a mapping without a table: %v", doc)
	}
	if doc := (Type{Name: "days"}).ListOr().schema(); len(doc["anyOf"].([]any)) != 2 {
		t.Errorf("an alternative: %v", doc)
	}
}

func TestTypesAreDescribedInWords(t *testing.T) {
	number, word := Between(1, 3).Type, Enum("auto", "off").Type
	for want, of := range map[string]Type{
		"integer": number, "auto, off": word, "list of integer": ListOf(Between(1, 3)).Type, "map of auto, off": {Name: "map", Elem: &word},
		"integer or list of integer": number.ListOr(), "list": {Name: "list"}, "list of list of integer": ListOf(ListOf(Between(1, 3))).Type,
	} {
		if got := of.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestKeysAreFoundAsUsersWriteThem(t *testing.T) {
	var all []Key
	for _, path := range []string{"limits", "limits.turns", "agents.NAME", "agents.NAME.turns", "tasks[].id", "tasks[].limits.turns", "profiles.NAME.permission.PERMISSION"} {
		all = append(all, Key{Path: path})
	}
	for name, want := range map[string][]string{
		"limits.turns":              {"limits.turns"},
		"turns":                     {"limits.turns", "agents.NAME.turns", "tasks[].limits.turns"},
		"tasks.id":                  {"tasks[].id"},
		"tasks[].id":                {"tasks[].id"},
		"agents.reviewer.turns":     {"agents.NAME.turns"},
		"agents.NAME.turns":         {"agents.NAME.turns"},
		"agents.*":                  {"agents.NAME"},
		"*.turns":                   {"limits.turns", "agents.NAME"}, // NAME may be turns
		"limit*":                    {"limits"},
		"reviewer":                  nil, // a name of the user's own is no key
		"permission.bash":           {"profiles.NAME.permission.PERMISSION"},
		"nonesuch":                  nil,
		"tasks.limits.turns.deeper": nil,
		"[":                         nil,
	} {
		var got []string
		for _, k := range MatchKeys(all, name) {
			got = append(got, k.Path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestKeysBelowATableNameListsAndMaps(t *testing.T) {
	item := Mapping((*box).flatKeys)
	table := Table{
		{Name: "boxes", Field: Checked(ListOf(item))},
		{Name: "named", Field: Checked(MapOf("NAME", item.Type, readFlags))},
		{Name: "short", Field: Checked(Short(item, ScalarType(), IfString("name")))},
	}
	var got []string
	for _, k := range table.Below("x.") {
		if strings.HasSuffix(k.Path, "name") || !strings.Contains(k.Path[2:], ".") {
			got = append(got, k.Path)
		}
	}
	if want := []string{"x.boxes", "x.boxes[].name", "x.named", "x.named.NAME.name", "x.short", "x.short.name"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A key that another tool has gets the fix of the first key that the mapping has.
func TestKeysOfOtherToolsHaveTheirFix(t *testing.T) {
	table := func(names ...string) (all Table) {
		for _, name := range names {
			all = append(all, Row{Name: name, Field: Checked(String)})
		}
		return all
	}
	for _, c := range []struct {
		key  string
		of   Table
		want string
	}{
		{"timeout-minutes", table("time"), "write time: 20m"},
		{"timeoutMinutes", table("limits"), "write limits: {time: 20m}"},
		{"timeout", table("limits", "time"), "write time: 20m"},
		{"MAX_TURNS", table("limits"), "write limits: {turns: 60}"},
		{"depends_on", table("needs"), "write needs: [TASK]"},
		{"timeout", table("color"), ""},
		{"nonesuch", table("time"), ""},
	} {
		if got := c.of.foreignFix(c.key); got != c.want {
			t.Errorf("%s: %q, want %q", c.key, got, c.want)
		}
		v := valueOf(t, "{"+c.key+": 5}")
		if got := c.of.Read(v); len(got) > 0 {
			t.Errorf("%s: read as %v", c.key, got)
		}
		if what := problemsOf(v); !strings.Contains(what, "unknown key "+problem.Quote(c.key)) || c.want != "" && !strings.HasSuffix(what, "; "+c.want) {
			t.Errorf("%s: %s", c.key, what)
		}
	}
}

// A misspelt key is read as the one that is meant, so that all of its problems are found in one reading, unless that one is there too.
func TestMisspeltKeysAreReadOnce(t *testing.T) {
	for text, want := range map[string]struct {
		size     int
		problems int
	}{
		"{name: a, sise: 5}":          {5, 1},
		"{name: a, sise: 50}":         {0, 2},
		"{name: a, sise: 5, size: 4}": {4, 1},
		"{name: a, sise: null}":       {0, 1},
		"{nam: a}":                    {0, 1}, // not missing as well
		"{name: null, size: 2}":       {2, 1}, // a key without a value is missing
	} {
		var b box
		v := valueOf(t, text)
		b.keys().Read(v)
		if n := len(v.Src.Found.List); b.size != want.size || n != want.problems {
			t.Errorf("%s: size %d, %s", text, b.size, problemsOf(v))
		}
	}
}

func TestFieldsStoreWhatTheyRead(t *testing.T) {
	all, noted := []string{"a"}, Value{}
	field := Noting(&noted, Adding(&all, ListOf(String)))
	v := valueOf(t, "[b, 5]")
	if field.Read(v); !slices.Equal(all, []string{"a", "b"}) || noted.Node != v.Node {
		t.Errorf("%q, %v", all, noted)
	}
	if field.Read(valueOf(t, "c")); !slices.Equal(all, []string{"a", "b"}) || noted.Node == v.Node {
		t.Errorf("after a problem: %q, %v", all, noted)
	}
	n := 7
	if Into(&n, Between(1, 3)).Read(valueOf(t, "5")); n != 7 {
		t.Errorf("after a problem: %d", n)
	}
	got := Digests([]Definition[int]{{Title: "tool a", Digest: "1"}, {Title: "tool b", Digest: "2"}})
	if !slices.Equal(got, []string{"tool a 1", "tool b 2"}) {
		t.Errorf("%q", got)
	}
}
