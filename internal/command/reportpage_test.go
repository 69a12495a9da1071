package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report/reportschema"
)

// TestEventsSchemaOfTheDocs compares docs/events.schema.json with the output of the command.
func TestEventsSchemaOfTheDocs(t *testing.T) {
	_, out := command(t, "schema", "events")
	compareFile(t, "events.schema.json", out)
	for name, text := range map[string][]byte{"urn:millhand:events:1": []byte(out), "urn:millhand:report:1": reportschema.Schema()} {
		var doc struct {
			ID string `json:"$id"`
		}
		if err := json.Unmarshal(text, &doc); err != nil || doc.ID != name {
			t.Errorf("$id %q, want %q: %v", doc.ID, name, err)
		}
	}
}

// TestReportPageOfTheDocs compares docs/report.md with the schemas of reports and events.
func TestReportPageOfTheDocs(t *testing.T) {
	compareFile(t, "report.md", reportPage(t))
}

// compareFile compares a file of docs with what it is made from, or writes it with -update.
func compareFile(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", name)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/%s differs; run make golden:\n%s", name, diff)
	}
}

const (
	reportPageStart = `# Fields of reports and events

This page lists every field of ` + "`report.json`" + ` and of ` + "`events.jsonl`" + `. It is generated from their JSON Schemas,
[report.schema.json](../report/report.schema.json) and [events.schema.json](events.schema.json), which ` + "`millhand schema report`" + `
and ` + "`millhand schema events`" + ` print. [reports.md](reports.md) describes the files of a report directory, and
[stability.md](stability.md) what later releases may change.

## report.json

`
	eventsPageStart = `## events.jsonl

Each line is one event: a JSON object. Its last field ` + "`crc`" + ` is a checksum of the line. A field that is marked as optional is missing if
it does not apply. Ignore types of events and fields that you don't know.

| type | field | what happened |
|---|---|---|
`
)

// reportPage returns the text of docs/report.md.
func reportPage(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	page.WriteString(reportPageStart)
	doc := parseSchema(t, reportschema.Schema())
	fmt.Fprintf(&page, "%s\n\n", doc.Description)
	doc.write(t, &page, "Report", nil)
	page.WriteString(eventsPageStart)
	for _, info := range event.Types() {
		fmt.Fprintf(&page, "| `%s` | `%s` | %s |\n", info.Type, info.Payload, info.Doc)
	}
	page.WriteString("\n")
	text, err := json.Marshal(event.Schema())
	if err != nil {
		t.Fatal(err)
	}
	doc = parseSchema(t, text)
	notes := declarations(t, "../event", "../money")
	notes.others = parseSchema(t, reportschema.Schema()).Defs.all
	doc.write(t, &page, "Event", notes)
	return strings.TrimRight(page.String(), "\n") + "\n"
}

// schemaNode is a JSON Schema, as far as those of millhand use the language.
type schemaNode struct {
	Description string
	Type        any
	Const       any
	Enum        []any
	Ref         string `json:"$ref"`
	AnyOf       []schemaNode
	Items       *schemaNode
	Properties  orderedSchemas
	Others      any            `json:"additionalProperties"`
	Defs        orderedSchemas `json:"$defs"`
}

// orderedSchemas are schemas by name, in the order of the document.
type orderedSchemas struct {
	names []string
	all   map[string]schemaNode
}

func (o *orderedSchemas) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &o.all); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		o.names = append(o.names, name.(string))
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return err
		}
	}
	return nil
}

func parseSchema(t *testing.T, text []byte) schemaNode {
	t.Helper()
	var doc schemaNode
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// write writes the tables of a schema and of its definitions. prefix starts their headings.
// notes are what the schema does not contain; nil for a complete one.
func (s *schemaNode) write(t *testing.T, page *strings.Builder, prefix string, notes *goTypes) {
	t.Helper()
	s.table(t, page, s.Defs, prefix, prefix, notes)
	for _, name := range s.Defs.names {
		def := s.Defs.all[name]
		fmt.Fprintf(page, "### %s: %s\n\n", prefix, name)
		text := def.Description
		if notes != nil {
			text = notes.describe(name, "").text
		}
		if text != "" {
			fmt.Fprintf(page, "%s\n\n", escaped(text))
		}
		if def.Properties.all == nil {
			fmt.Fprintf(page, "Type: %s.\n\n", def.kind(prefix))
			continue
		}
		def.table(t, page, s.Defs, prefix, name, notes)
	}
}

// table writes the fields of an object. A field without a text has that of its type.
func (s *schemaNode) table(t *testing.T, page *strings.Builder, defs orderedSchemas, prefix, name string, notes *goTypes) {
	t.Helper()
	page.WriteString("| field | type | description |\n|---|---|---|\n")
	fields := s.Properties.names
	if notes != nil {
		fields = notes.fields[name]
	}
	for _, field := range fields {
		one := s.Properties.all[field]
		kind, text := one.kind(prefix), one.Description
		if notes != nil {
			info := notes.describe(name, field)
			if text = info.text; info.optional {
				kind += ", optional"
			}
		}
		if of, ok := strings.CutPrefix(one.Ref, "#/$defs/"); ok && text == "" {
			if text = defs.all[of].Description; notes != nil {
				text = notes.describe(of, "").text
			}
		}
		if text == "" {
			t.Errorf("%s.%s has no description: add a comment to the field", name, field)
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", field, kind, escaped(text))
	}
	page.WriteString("\n")
}

// escaped returns a text as Markdown in a table.
func escaped(text string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text) }

// kind describes the type of a value.
func (s *schemaNode) kind(prefix string) string {
	switch {
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		return fmt.Sprintf("[%s](#%s-%s)", name, strings.ToLower(prefix), strings.ToLower(name))
	case s.Const != nil:
		return fmt.Sprintf("%v, always `%v`", s.Type, s.Const)
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			text, _ := json.Marshal(v)
			values = append(values, "`"+string(text)+"`")
		}
		return "one of " + strings.Join(values, ", ")
	case s.Type == nil && len(s.AnyOf) > 0:
		var kinds []string
		for _, one := range s.AnyOf {
			kinds = append(kinds, one.kind(prefix))
		}
		return strings.Join(kinds, " or ")
	case s.Items != nil:
		return "list of " + s.Items.kind(prefix)
	}
	if others, ok := s.Others.(map[string]any); ok {
		text, _ := json.Marshal(others)
		var of schemaNode
		if json.Unmarshal(text, &of) == nil {
			return "map of " + of.kind(prefix)
		}
	}
	switch kinds := s.Type.(type) {
	case string:
		return kinds
	case []any:
		var all []string
		for _, k := range kinds {
			all = append(all, fmt.Sprint(k))
		}
		return strings.Join(all, " or ")
	}
	return "any JSON"
}

// goTypes are the declarations of the types that a schema was made from.
type goTypes struct {
	notes  map[string]fieldNote // by "Type.field", and "Type." for the type itself
	fields map[string][]string  // by type, in their order
	terms  map[string]string    // names of fields and constants that are not words, and what they are in JSON
	others map[string]schemaNode
}

// describe returns the description of a field, or of a type if the field is empty.
func (g *goTypes) describe(typeName, field string) fieldNote {
	n := g.notes[typeName+"."+field]
	if typeName == "Event" && n.text == "" {
		var types []string
		for _, info := range event.Types() {
			if info.Payload == field {
				types = append(types, "`"+string(info.Type)+"`")
			}
		}
		n.text = "of " + strings.Join(types, ", ")
	}
	if n.text == "" { // reports have most of it
		same := map[string]string{"JobEnd": "job", "RunEnd": "run", "JobStart": "job", "CallMetadata": "call_metadata", "Network": "network_denial", "PullRequest": "pull_request", "ServerInfo": "server_info", "PlannedJob": "job"}[typeName]
		if same == "" {
			same = strings.ToLower(typeName)
		}
		def := g.others[same]
		n.text = def.Properties.all[field].Description
	}
	words := strings.Fields(n.text)
	for i, w := range words {
		name := strings.Trim(w, ".,;:()")
		if json := g.terms[name]; json != "" {
			words[i] = strings.Replace(w, name, json, 1)
		}
	}
	n.text = strings.Join(words, " ")
	if n.optional {
		n.text = strings.ReplaceAll(n.text, "null ", "missing ")
	}
	return n
}

// fieldNote is what the declaration of a field contains.
type fieldNote struct {
	text     string
	optional bool // it may be missing
}

// declarations reads the types in packages.
func declarations(t *testing.T, dirs ...string) *goTypes {
	t.Helper()
	g := &goTypes{notes: map[string]fieldNote{}, fields: map[string][]string{}, terms: map[string]string{}}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if decl, ok := d.(*ast.GenDecl); ok {
					g.add(decl)
				}
			}
		}
	}
	if len(g.notes) < 100 {
		t.Errorf("only %d fields found", len(g.notes))
	}
	return g
}

// add adds a declaration: a structure, or constants.
func (g *goTypes) add(decl *ast.GenDecl) {
	for _, s := range decl.Specs {
		switch spec := s.(type) {
		case *ast.TypeSpec:
			if fields, ok := spec.Type.(*ast.StructType); ok {
				g.addStruct(spec.Name.Name, fields, decl.Doc)
			}
		case *ast.ValueSpec:
			if len(spec.Values) == 1 {
				if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
					g.term(spec.Names[0].Name, strings.Trim(value.Value, `"`))
				}
			}
		}
	}
}

func (g *goTypes) addStruct(name string, of *ast.StructType, doc *ast.CommentGroup) {
	g.notes[name+"."] = fieldNote{text: commentText(doc)}
	for _, f := range of.Fields.List {
		if f.Tag == nil {
			continue
		}
		field, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if field == "-" {
			continue
		}
		text := commentText(f.Comment)
		if text == "" {
			text = commentText(f.Doc)
		}
		g.notes[name+"."+field] = fieldNote{text, strings.HasPrefix(options, "omit")}
		g.fields[name] = append(g.fields[name], field)
		g.term(f.Names[0].Name, field)
	}
}

// term adds a name that no text uses as a word: with a capital letter in it.
func (g *goTypes) term(name, json string) {
	if strings.ToLower(name[1:]) != name[1:] {
		g.terms[name] = "`" + json + "`"
	}
}

// commentText returns a comment on one line, in the terms of JSON.
func commentText(c *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(c.Text()), " ")
	return strings.NewReplacer("nil ", "null ", "[", "", "]", "").Replace(text)
}
