// Package reference prints what manifests, reports and other files of millhand may contain: their JSON Schemas and explanations of keys.
// It reads no file.
package reference

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/report/reportschema"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// Schemas are the names of the schemas.
func Schemas() []string {
	return []string{"manifest", "policy", "report", "events", "script", "findings"}
}

// Schema prints a schema, that of manifests for "".
func Schema(out io.Writer, name string) error {
	switch name {
	case "", "manifest":
		return writeSchema(out, manifest.JSONSchema())
	case "report":
		_, err := out.Write(reportschema.Schema())
		return err
	case "events":
		return writeSchema(out, event.Schema())
	case "policy":
		return writeSchema(out, manifest.PolicySchema())
	case "script":
		return writeSchema(out, titled(name, script.Schema()))
	case "findings":
		return writeSchema(out, titled(name, findings.Schema()))
	}
	return fault.New(event.ExitUsage, "schema accepts one of %s%s", strings.Join(Schemas(), ", "), problem.DidYouMean(name, Schemas()))
}

// titled adds to a schema what those of tasks have.
func titled(name string, doc map[string]any) map[string]any {
	doc["$schema"], doc["$id"], doc["title"] = "https://json-schema.org/draft/2020-12/schema", "urn:millhand:"+name+":1", "millhand "+name
	return doc
}

// writeSchema writes a schema as docs/manifest.schema.json has it.
func writeSchema(out io.Writer, doc map[string]any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// Explain explains the keys of manifests, or of policies, that a name stands for.
func Explain(out io.Writer, policy bool, name string) error {
	if policy {
		return explainKeys(out, manifest.PolicyKeys(), name)
	}
	return explainKeys(out, manifest.EveryKey(), name)
}

// KeyPaths returns the names of the keys of manifests.
func KeyPaths() []string {
	var list []string
	for _, k := range manifest.EveryKey() {
		list = append(list, strings.ReplaceAll(k.Path, "[]", ""))
	}
	return list
}

// explainKeys prints the keys that a name stands for. A name below a key with names of
// the user's choice stands for that key.
func explainKeys(out io.Writer, all []form.Key, name string) error {
	found := form.MatchKeys(all, name)
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(found) == 0 {
		found = slices.DeleteFunc(form.MatchKeys(all, name[:i]), func(k form.Key) bool { return !hasNames(k.Type) })
	}
	if len(found) == 0 {
		return fault.New(event.ExitUsage, "unknown key %s%s; docs/manifest.md lists all keys", name, problem.DidYouMean(name, keyNames(all)))
	}
	for i, k := range found {
		if i > 0 {
			fmt.Fprintln(out)
		}
		explainKey(out, all, k)
	}
	return nil
}

func explainKey(out io.Writer, all []form.Key, k form.Key) {
	text := k.Type.String()
	if k.Required {
		text += ", required"
	}
	if k.Default != "" {
		text += ", default " + k.Default
	}
	fmt.Fprintf(out, "%s (%s)\n  %s\n", k.Path, text, k.Doc)
	var below []form.Key
	width := 0
	for _, other := range all {
		rest, ok := strings.CutPrefix(other.Path, k.Path)
		if ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "[]")) {
			below = append(below, other)
			width = max(width, len(other.Path))
		}
	}
	if len(below) > 40 {
		fmt.Fprintf(out, "  %s below it; see 'millhand explain %s.*'\n", figures.Count(len(below), "key"), k.Path)
		return
	}
	for _, other := range below {
		text := other.Doc
		if other.Default != "" {
			text += " (default " + other.Default + ")"
		}
		fmt.Fprintf(out, "    %-*s  %s\n", width, other.Path, text)
	}
}

// hasNames returns whether values of a type are maps with names of the user's choice.
func hasNames(t form.Type) bool {
	for one := &t; one != nil; one = one.Or {
		if one.Name == "map" {
			return true
		}
	}
	return false
}

// keyNames returns the paths of keys as users write them, and the last names in them.
func keyNames(all []form.Key) []string {
	var names []string
	for _, k := range all {
		path := strings.ReplaceAll(k.Path, "[]", "")
		names = append(names, path, path[strings.LastIndexByte(path, '.')+1:])
	}
	return names
}
