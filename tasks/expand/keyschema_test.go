package expand

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/text/schema"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

func compiled(t *testing.T, doc map[string]any) *schema.Schema {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := schema.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(parsed.(map[string]any))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a document as an editor gives it to a schema, without missing values.
func asJSON(t *testing.T, doc any) any {
	t.Helper()
	data, err := json.Marshal(withoutNull(doc))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := schema.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func withoutNull(doc any) any {
	m, ok := doc.(map[string]any)
	if !ok {
		return doc
	}
	all := map[string]any{}
	for k, v := range m {
		if v != nil {
			all[k] = withoutNull(v)
		}
	}
	return all
}

func TestSchemasAcceptWhatLoads(t *testing.T) {
	schemas := map[bool]*schema.Schema{false: compiled(t, manifest.JSONSchema()), true: compiled(t, manifest.PolicySchema())}
	both(t, func(t *testing.T, d document, k form.Key, policy bool) {
		t.Helper()
		d.sampled(k, map[bool]map[string]mapNode{false: samples, true: policySamples}[policy])
		if err := schemas[policy].Validate(asJSON(t, d.root)); err != nil {
			t.Errorf("%v\n%v", d.root, err)
		}
		if k.Default != "" {
			var value any
			if err := yaml.Unmarshal([]byte(k.Default), &value); err != nil {
				t.Fatal(err)
			}
			d.set(k, value)
			if err := schemas[policy].Validate(asJSON(t, d.root)); err != nil {
				t.Errorf("default %s: %v", k.Default, err)
			}
		}
		d.at(parent(k))["qqqq"] = 1
		if err := schemas[policy].Validate(asJSON(t, d.root)); err == nil && !strings.HasPrefix(k.Path, "tasks[].matrix.") {
			t.Errorf("an unknown key beside %s is accepted", k.Path)
		}
	})
}

func TestSchemaAcceptsTheExamples(t *testing.T) {
	s, n := compiled(t, manifest.JSONSchema()), 0
	for _, dir := range []string{"../../examples", "testdata"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var doc map[string]any
			if err := yaml.Unmarshal(data, &doc); err != nil || doc["tasks"] == nil {
				return nil //nolint:nilerr // it is another file, such as a scripted model
			}
			n++
			if err := s.Validate(asJSON(t, doc)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 10 {
		t.Errorf("only %d manifests", n)
	}
}

func TestSchemaRejects(t *testing.T) {
	s := compiled(t, manifest.JSONSchema())
	for text, at := range map[string]string{
		"version: 1\ntasks: [{id: a, prompt: x, tiems: 3}]":               "/tasks/0",
		"version: 2\ntasks: [{id: a, prompt: x}]":                         "/version",
		"tasks: [{id: a, prompt: x}]":                                     "at /:",
		"version: 1\ntasks: [{prompt: x}]":                                "/tasks/0",
		"version: 1\nlimits: {time: 20}\ntasks: []":                       "/limits/time",
		"version: 1\nlimits: {turns: 0}\ntasks: []":                       "/limits/turns",
		"version: 1\nlimits: {disk: 3}\ntasks: []":                        "/limits/disk",
		"version: 1\nnotify: {x: 1}\ntasks: []":                           "at /:",
		"version: 1\nprofiles: {p: {permission: {bash: maybe}}}":          "/profiles/p/permission",
		"version: 1\ntasks: [{id: a, prompt: x, matrix: {os: linux}}]":    "/tasks/0/matrix/os",
		"version: 1\ntasks: [{id: a, prompt: x, publish: {mode: shout}}]": "/tasks/0/publish/mode",
	} {
		var doc any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		var faults schema.Faults
		if err := s.Validate(asJSON(t, doc)); !errors.As(err, &faults) || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v, want %s", text, err, at)
		}
	}
}

func TestSchemaAcceptsForms(t *testing.T) {
	s := compiled(t, manifest.JSONSchema())
	for _, text := range []string{
		"version: 1\nvars: {n: 5, on: true}\ntasks: [{id: a, prompt: x, matrix: {n: [1, 2.5, true]}, if: true, setup: make, verify: [true, {run: 1}]}]",
		"version: 1\nlimits: {time: 1.5h30m, disk: 2.5 GiB}\nmodel: [a/b, c/d]\ntasks: [{id: a, prompt: x, commit: false, verify: make}]",
		"version: 1\nlsp: true\nmcp: {m: {command: [x, 1], timeout: 5000, environment: {A: 1}}}\nprofiles: {p: {permission: {git: write, bash: {\"*\": deny}}}}\ntasks: []",
		"version: 1\ntasks: [{id: a, prompt: x, commit: {\"include\": [\"setup\", \"verify\", \"hooks\", \"build\"]}}, {id: b, prompt: x, commit: {include: []}}]",
		"version: 1\nlsp: {go: {disabled: true}}\nprofiles: {p: {permission: allow, network: [example.com], cache: none}}\ntasks: []",
	} {
		var doc any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(asJSON(t, doc)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMatchKeys(t *testing.T) {
	for name, want := range map[string]string{
		"tasks.verify":          "tasks[].verify",
		"tasks[].verify[].in":   "tasks[].verify[].in",
		"limits.turns":          "limits.turns",
		"verify":                "tasks[].verify",
		"setup_env":             "tasks[].setup_env",
		"profiles.careful.env":  "profiles.NAME.env",
		"profiles.NAME.env":     "profiles.NAME.env",
		"tasks.*_changes":       "tasks[].require_changes",
		"author.*":              "tasks[].commit.author.name tasks[].commit.author.email",
		"prices.openai/x.input": "prices.MODEL.input",
		"nothing":               "",
		"notify":                "",
		"tasks.[":               "",
		"":                      "",
	} {
		var got []string
		for _, k := range form.MatchKeys(manifest.EveryKey(), name) {
			got = append(got, k.Path)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
