package form

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks/problem"
)

// valueOf returns the value of the key x, written as YAML has it in line 1 from column 4 of v.yaml.
func valueOf(t *testing.T, text string) Value {
	t.Helper()
	src := &Source{File: problem.File{Name: "v.yaml", Found: problem.NewCollector()}, Dir: "/shop", Home: "/home/ann", Inputs: &Inputs{Ctx: t.Context(), Uses: NewUses()}}
	v, ok := src.Parse([]byte("x: " + text + "\n"))
	if !ok {
		t.Fatal(src.Found.Err())
	}
	entries, ok := v.Entries()
	if !ok || len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	return entries[0]
}

// problemsOf returns the problems in the file of a value, one a line.
func problemsOf(v Value) string {
	if err := v.Src.Found.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// reading is a value that a form reads, or the problem that it reports.
type reading struct {
	text string
	want any // nil after a problem
	what string
}

func checkForm[T any](t *testing.T, f Of[T], table []reading) {
	t.Helper()
	for _, tt := range table {
		v := valueOf(t, tt.text)
		got, ok := f.Read(v)
		if ok != (tt.want != nil) || ok && !reflect.DeepEqual(any(got), tt.want) {
			t.Errorf("%s: %v, %t, want %v", tt.text, got, ok, tt.want)
		}
		if what := problemsOf(v); what != tt.what {
			t.Errorf("%s:\n%s, want\n%s", tt.text, what, tt.what)
		}
	}
}

func TestFormOfStrings(t *testing.T) {
	checkForm(t, String, []reading{
		{"a b", "a b", ""},
		{"2026-01-02", "2026-01-02", ""},
		{"!!str 5", "5", ""},
		{"'5'", "5", ""},
		{"5", nil, `v.yaml:1:4: "x" must be a string, not the number 5; put it in quotes`},
		{"yes", "yes", ""},
		{"true", nil, `v.yaml:1:4: "x" must be a string, not the boolean true; put it in quotes`},
		{"null", nil, `v.yaml:1:4: "x" must be a string, not null; write one string`},
		{"{a: b}", nil, `v.yaml:1:4: "x" must be a string, not a mapping; write one string`},
		{"' '", nil, `v.yaml:1:4: "x" is empty; give it a value, or remove it`},
	})
}

func TestFormOfBooleans(t *testing.T) {
	checkForm(t, Bool, []reading{
		{"true", true, ""},
		{"False", false, ""},
		{"yes", nil, `v.yaml:1:4: "x" must be true or false, not the string "yes"; write true`},
		{"'off'", nil, `v.yaml:1:4: "x" must be true or false, not the string "off"; write false`},
		{"0", nil, `v.yaml:1:4: "x" must be true or false, not the number 0; write false`},
		{"[a]", nil, `v.yaml:1:4: "x" must be true or false, not a list; write true or false`},
	})
}

func TestFormOfIntegers(t *testing.T) {
	checkForm(t, Between(1, 64), []reading{
		{"1", 1, ""},
		{"64", 64, ""},
		{"1_0", 10, ""},
		{"0", nil, `v.yaml:1:4: "x" must be an integer from 1 to 64, not the number 0; write 1 or more`},
		{"65", nil, `v.yaml:1:4: "x" must be an integer from 1 to 64, not the number 65; write 64 or less`},
		{"'5'", nil, `v.yaml:1:4: "x" must be an integer from 1 to 64, not the string "5"; write 5 without quotes`},
		{"5.5", nil, `v.yaml:1:4: "x" must be an integer from 1 to 64, not the number 5.5; write a whole number without a unit`},
		{"5s", nil, `v.yaml:1:4: "x" must be an integer from 1 to 64, not the string "5s"; write a whole number without a unit`},
		{"99999999999999999999", nil, `v.yaml:1:4: "x" must be an integer from 1 to 64, not the number 99999999999999999999; write a whole number without a unit`},
	})
	checkForm(t, Positive(), []reading{
		{"9223372036854775807", math.MaxInt, ""},
		{"-1", nil, `v.yaml:1:4: "x" must be an integer of at least 1, not the number -1; write 1 or more`},
	})
	checkForm(t, Tokens, []reading{{"200_000", int64(200_000), ""}})
	if most := Positive().Type.Max; most != 0 {
		t.Errorf("the schema has the maximum %d", most)
	}
}

func TestFormOfDurations(t *testing.T) {
	checkForm(t, Duration, []reading{
		{"1h30m", 90 * time.Minute, ""},
		{"0.5s", 500 * time.Millisecond, ""},
		{"5", nil, `v.yaml:1:4: "x" must be a duration, not the number 5; write it with its unit, such as 90s, 20m or 1h30m`},
		{"2d", nil, `v.yaml:1:4: "x" must be a duration, not the string "2d"; write it with its unit, such as 90s, 20m or 1h30m`},
		{"0s", nil, `v.yaml:1:4: "x" must be more than 0; write for example 20m`},
		{"-1m", nil, `v.yaml:1:4: "x" must be more than 0; write for example 20m`},
		{"[1m]", nil, `v.yaml:1:4: "x" must be a duration, not a list; write it with its unit, such as 90s, 20m or 1h30m`},
	})
}

func TestFormOfSizes(t *testing.T) {
	const unit = `v.yaml:1:4: "x" must be a size, not the `
	const fix = `; write it with its unit, such as 500MB, 8GB or 2GiB`
	checkForm(t, Bytes, []reading{
		{"1MB", int64(1e6), ""},
		{"1000kB", int64(1e6), ""},
		{"1.5GB", int64(15e8), ""},
		{"2GiB", int64(2 << 30), ""},
		{"1TiB", int64(1 << 40), ""},
		{`"8 GB"`, int64(8e9), ""},
		{"8", nil, unit + "number 8" + fix},
		{"8gb", nil, unit + `string "8gb"` + fix},
		{"GB", nil, unit + `string "GB"` + fix},
		{"kiB", nil, unit + `string "kiB"` + fix},
		{"999kB", nil, `v.yaml:1:4: "x" must be from 1MB to 1000TB; write for example 8GB`},
		{"1001TB", nil, `v.yaml:1:4: "x" must be from 1MB to 1000TB; write for example 8GB`},
		{"NaNMB", nil, `v.yaml:1:4: "x" must be from 1MB to 1000TB; write for example 8GB`},
	})
	for text, want := range map[string]int64{"4GB": 4e9, "1MiB": 1 << 20, "4": 0, "1kB": 0, "NaNGB": 0} {
		if got, err := ParseBytes(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
}

func TestFormsOfMoney(t *testing.T) {
	const amount = `; write for example 1.50`
	checkForm(t, Price, []reading{
		{"1.50", 3 * money.Dollar / 2, ""},
		{"0", money.USD(0), ""},
		{"1_000", 1000 * money.Dollar, ""},
		{"-1", nil, `v.yaml:1:4: "x" must be an amount in USD, not the number -1` + amount},
		{"'1'", nil, `v.yaml:1:4: "x" must be an amount in USD, not the string "1"` + amount},
		{"$1", nil, `v.yaml:1:4: "x" must be an amount in USD, not the string "$1"` + amount},
		{".inf", nil, `v.yaml:1:4: "x" must be an amount in USD, not the number .inf` + amount},
	})
	checkForm(t, Cost, []reading{
		{"2", 2 * money.Dollar, ""},
		{"0", nil, `v.yaml:1:4: "x" must be more than 0; remove it for no limit`},
		{"null", nil, `v.yaml:1:4: "x" must be an amount in USD, not null` + amount},
	})
}

func TestFormsOfLists(t *testing.T) {
	checkForm(t, ListOf(String), []reading{
		{"[a, b]", []string{"a", "b"}, ""},
		{"a", nil, `v.yaml:1:4: "x" must be a list, not the string "a"; put it in brackets: [a]`},
		{"a value that is too long for a fix", nil, `v.yaml:1:4: "x" must be a list, not the string "a value that is too long for a fix"; put it in brackets: [...]`},
		{"{a: b}", nil, `v.yaml:1:4: "x" must be a list, not a mapping; write [A, B]`},
		{"[a, 5, b]", []string{"a", "b"}, `v.yaml:1:8: entry 2 of "x" must be a string, not the number 5; put it in quotes`},
	})
	checkForm(t, UpTo(1, ListOf(String)), []reading{
		{"[a]", []string{"a"}, ""},
		{"[a, b]", nil, `v.yaml:1:4: "x" has more than 1 entries; make it shorter`},
	})
	checkForm(t, OrOne(String), []reading{
		{"[a, b]", []string{"a", "b"}, ""},
		{"make test", []string{"make test"}, ""},
		{"null", nil, `v.yaml:1:4: "x" must be a list, not null; write [A, B]`},
		{"[" + strings.Repeat("a, ", MaxCommands) + "a]", nil, `v.yaml:1:4: "x" has more than 100 entries; make it shorter`},
	})
	checkForm(t, Flat(ListOf(String)), []reading{{"[[a], [], [b, c]]", []string{"a", "b", "c"}, ""}})
}

func TestFormsOfWords(t *testing.T) {
	checkForm(t, Enum("none", "ssh"), []reading{
		{"ssh", "ssh", ""},
		{"shs", nil, `v.yaml:1:4: "x" must be one of none, ssh, not "shs"; did you mean "ssh"?`},
		{"gpg", nil, `v.yaml:1:4: "x" must be one of none, ssh, not "gpg"; write one of them`},
		{"''", nil, `v.yaml:1:4: "x" is empty; give it a value, or remove it`},
	})
	type mode string
	checkForm(t, OneOf([]mode{"auto", "always"}, "never"), []reading{
		{"always", mode("always"), ""},
		{"''", mode("auto"), ""},
		{"never", nil, `v.yaml:1:4: x: never is not supported yet; write auto, always, or remove it`},
		{"allways", nil, `v.yaml:1:4: "x" must be one of auto, always, never, not "allways"; did you mean "always"?`},
		{"other", nil, `v.yaml:1:4: "x" must be one of auto, always, never, not "other"; write auto, always, or remove it`},
	})
}

func TestFormsOfMappings(t *testing.T) {
	short := Short(Mapping((*box).flatKeys), Type{Name: "string"}, IfString("name"))
	checkForm(t, short, []reading{
		{"{name: a, size: 2}", box{name: "a", size: 2}, ""},
		{"a", box{name: "a"}, ""},
		{"''", box{}, `v.yaml:1:4: "name" is empty; give it a value, or remove it`},
		{"5", box{}, `v.yaml:1:4: "x" must be a mapping, not the number 5; write KEY: VALUE`},
	})
	if short.Type.Or == nil || short.Type.Or.Name != "string" {
		t.Errorf("the schema has no short form: %+v", short.Type)
	}
	checkForm(t, Optional(Between(1, 2)), []reading{{"3", nil, `v.yaml:1:4: "x" must be an integer from 1 to 2, not the number 3; write 2 or less`}})
	if got, ok := Optional(Bool).Read(valueOf(t, "true")); !ok || got == nil || !*got {
		t.Errorf("%v, %t", got, ok)
	}
}

func TestFormOfGlobs(t *testing.T) {
	checkForm(t, Glob, []reading{
		{"'src/**/*.go'", "src/**/*.go", ""},
		{"'{a,b}/[c-d]*'", "{a,b}/[c-d]*", ""},
		{"'[x'", nil, `v.yaml:1:4: invalid glob "[x"; close its brackets`},
		{"'${{ vars.a }}'", nil, `v.yaml:1:4: glob "${{ vars.a }}": variables are not supported here; write the path itself`},
		{"'" + strings.Repeat("{a,b}", 40) + "'", nil, `v.yaml:1:4: invalid glob "` + strings.Repeat("{a,b}", 12) + `...": braces expand to too many patterns (more than 1000) or too long ones; write several patterns, or use wildcards`},
	})
}

func TestFormOfSchemas(t *testing.T) {
	checkForm(t, Schema, []reading{
		{"{properties: {a: {type: string}}}", map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}, ""},
		{"a", nil, `v.yaml:1:4: "x" must be a JSON Schema, not the string "a"; write for example {type: object, properties: {summary: {type: string}}}`},
		{"{type: array}", nil, `v.yaml:1:11: the schema must be that of an object; write type: object`},
		{"{properties: {a: {$ref: 'https://h/s'}}}", nil, `v.yaml:1:28: "$ref" refers to a schema outside of this one; write what it stands for under "$defs", and "#/$defs/NAME" here`},
		{"{minimum: .nan}", nil, `v.yaml:1:14: "minimum" must be a number that JSON has, not the number .nan; write another, or put it in quotes`},
		{"{description: " + strings.Repeat("a", MaxSchema) + "}", nil, `v.yaml:1:4: the schema exceeds 64 KiB; make it smaller`},
	})
	v := valueOf(t, "{properties: {a: {type: [strin]}}}")
	if _, ok := Schema.Read(v); ok || !strings.HasPrefix(problemsOf(v), "v.yaml:1:") || !strings.Contains(problemsOf(v), "invalid JSON Schema: ") {
		t.Errorf("%t, %q", ok, problemsOf(v))
	}
	if doc, ok := OptionalSchema.Read(valueOf(t, "{}")); doc != nil || ok {
		t.Errorf("an empty schema is %v, %t", doc, ok)
	}
}
