package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/findings"
	"github.com/millhand/millhand/report/reportschema"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

func schemas() []string {
	return []string{"manifest", "policy", "report", "events", "script", "findings"}
}

func schemaCommand(w world.World) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "Print the JSON Schema of manifests, policies, reports, events, scripts of models or findings", ArgsUsage: "[" + strings.Join(schemas(), "|") + "]",
		UsageText:    "millhand schema >millhand.schema.json\nmillhand schema report",
		BashComplete: completes(schemas),
		Action: func(in *cli.Context) error {
			name := in.Args().First()
			switch {
			case in.NArg() > 1 || name != "" && !slices.Contains(schemas(), name):
				return fault.New(event.ExitUsage, "schema accepts one of %s%s", strings.Join(schemas(), ", "), near(name, schemas()))
			case name == "report":
				_, err := w.Out.Write(reportschema.Schema())
				return err
			case name == "events":
				return writeSchema(w.Out, event.Schema())
			case name == "policy":
				return writeSchema(w.Out, manifest.PolicySchema())
			case name == "script":
				return writeSchema(w.Out, titled(name, script.Schema()))
			case name == "findings":
				return writeSchema(w.Out, titled(name, findings.Schema()))
			}
			return writeSchema(w.Out, manifest.JSONSchema())
		},
	}
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

func explainCommand(w world.World) *cli.Command {
	var policy bool
	return &cli.Command{
		Name: "explain", Usage: "Explain a key of manifests", ArgsUsage: "KEY",
		Description:  "Explains a key of manifests, or those that match, and lists the keys below it. KEY is complete (tasks.verify.run) or the end of it (verify.run); * stands for any characters.",
		UsageText:    "millhand explain tasks.verify\nmillhand explain 'limits.*'\nmillhand explain --policy hosts",
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "policy", Usage: "Explain a key of policy files", Destination: &policy, EnvVars: noVariable()}},
		BashComplete: completes(keyPaths),
		Action: func(in *cli.Context) error {
			if in.NArg() != 1 {
				return fault.Wrap(event.ExitUsage, errors.New("explain requires a key: millhand explain tasks.verify"))
			}
			all := manifest.EveryKey()
			if policy {
				all = manifest.PolicyKeys()
			}
			return explainKeys(w.Out, all, in.Args().First())
		},
	}
}

// explainKeys prints the keys that a name stands for. A name below a key with names of
// the user's choice stands for that key.
func explainKeys(out io.Writer, all []form.Key, name string) error {
	found := form.MatchKeys(all, name)
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(found) == 0 {
		found = slices.DeleteFunc(form.MatchKeys(all, name[:i]), func(k form.Key) bool { return !hasNames(k.Type) })
	}
	if len(found) == 0 {
		return fault.New(event.ExitUsage, "unknown key %s%s; docs/manifest.md lists all keys", name, near(name, keyNames(all)))
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
