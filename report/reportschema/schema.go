// Package reportschema makes the JSON Schema of report.json: from the types of package report, and from the descriptions of
// their fields in fields.txt. It reads no reports.
package reportschema

import (
	"bytes"
	_ "embed" // fields.txt
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
)

// descriptions has the description of each definition and field of the schema, "DEFINITION.FIELD: TEXT",
// with the definitions in the order of the schema.
//
//go:embed fields.txt
var descriptions string

// Schema returns the JSON Schema (draft 2020-12) of report.json. It is made from the type [report.Report] and the
// descriptions of its fields; report.schema.json is a copy.
func Schema() []byte {
	s := schemaWriter{texts: map[string]string{}, defs: map[string]node{}}
	var order []string
	for line := range strings.Lines(descriptions) {
		path, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if s.texts[path] = text; !strings.Contains(path, ".") && path != "" && path != reportName {
			order = append(order, path)
		}
	}
	top := s.object(reportName, reflect.TypeFor[report.Report]())
	var defs node
	for _, name := range order {
		defs = append(defs, member{name, s.defs[name]})
	}
	doc := node{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", "urn:millhand:report:1"}, {"title", "millhand report"}}
	doc = append(append(doc, top...), member{"$defs", defs})
	var out bytes.Buffer
	doc.write(&out, "")
	out.WriteByte('\n')
	return out.Bytes()
}

// reportName is what fields.txt calls the document itself.
const reportName = "report"

// definitions are the names of types in the schema that are not those in Go.
func definitions() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[event.PolicyFile]():  "policy",
		reflect.TypeFor[event.PriceTable]():  "prices",
		reflect.TypeFor[event.LeftOutPath](): "left_out",
		reflect.TypeFor[money.Charge]():      "lost",
	}
}

// describedInPlace reports whether a type is described where it is used.
func describedInPlace(t reflect.Type) bool {
	return t == reflect.TypeFor[event.LeftOut]() || t == reflect.TypeFor[event.SourceRepo]()
}

// eventOnly reports whether a field of an event is never in a report.
func eventOnly(path string) bool {
	return path == "commit.author" || path == "commit.committer" || path == "commit.signature"
}

// enums are the values of texts that have only some, by field or definition.
func enums() map[string][]string {
	codes := []string{""}
	for _, c := range event.Causes() {
		if !c.Unnamed() {
			codes = append(codes, string(c.Code))
		}
	}
	outcomes := []string{"passed", "failed", "limit", "budget", "policy", "error", "provider", "publish", "skipped", "cancelled"}
	kinds := []string{"added", "modified", "deleted"}
	places := []string{"workspace", "clean"}
	return map[string][]string{
		"outcome": outcomes, "run_outcome": append(outcomes[:len(outcomes):len(outcomes)], "waiting", "stopped"),
		"job.reason_code": codes, "sandbox.level": {"", "none", "A", "B", "external"}, "script.outcome": {"passed", "unchanged", "failed"},
		"baseline.in": places, "verify.in": places, "finding.severity": {"error", "warning", "note"}, "untracked.kind": kinds, "change.kind": kinds,
		"left_out.by": {"setup", "baseline", "verify", "hook", "build"}, "pull_request.state": {"open", "closed", "merged"},
		"call.status": {"completed", "error", "denied"}, "decision.effect": {"allow", "deny"}, "review.verdict": {"", "accepted", "rejected", "not_reviewed"}, "review_round.verdict": {"accepted", "rejected", "not_reviewed"}, "extension.status": {"ready", "failed", "absent", "not_needed"},
		"request.kind": {"label", "issue", "comment"}, "request.outcome": {"done", "refused", "failed", "skipped"},
	}
}

// schemaWriter makes the schema of a type with its definitions.
type schemaWriter struct {
	texts map[string]string // by path
	defs  map[string]node
}

// object describes a struct. path is its definition, or the field that it is described in.
func (s schemaWriter) object(path string, t reflect.Type) node {
	var properties node
	var required []string
	for f := range t.Fields() {
		if f.Anonymous {
			inner := s.object(path, f.Type)
			required = append(required, inner.get("required").([]string)...)   //nolint:forcetypeassert // made below
			properties = append(properties, inner.get("properties").(node)...) //nolint:forcetypeassert // likewise
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := path + "." + name
		if name == "" || name == "-" || eventOnly(at) {
			continue
		}
		absent := strings.Contains(options, "omit") && at != "verify.in" // which old events lack, and reports don't
		if !absent {
			required = append(required, name)
		}
		properties = append(properties, member{name, s.field(at, f.Type, absent)})
	}
	doc := append(s.described(path), node{{"type", "object"}, {"additionalProperties", false}}...)
	if len(required) > 0 {
		doc = append(doc, member{"required", required})
	}
	return append(doc, member{"properties", properties})
}

func (s schemaWriter) described(path string) node {
	if text := s.texts[path]; text != "" {
		return node{{"description", text}}
	}
	return nil
}

// field describes a field. One that is absent without a value is never null.
func (s schemaWriter) field(path string, t reflect.Type, absent bool) node {
	if values := enums()[path]; values != nil {
		return append(s.described(path), member{"type", "string"}, member{"enum", values})
	}
	switch path {
	case "report.schema_version":
		return append(s.described(path), member{"const", report.SchemaVersion}, member{"type", "integer"})
	case "call_metadata.custom":
		return append(s.described(path), member{"type", "object"})
	case "run.outcome":
		return append(s.described(path), s.ref("run_outcome", node{{"type", "string"}, {"enum", enums()["run_outcome"]}})...)
	}
	value := s.value(path, t)
	if t.Kind() == reflect.Pointer && !absent && t.Elem() != reflect.TypeFor[money.USD]() {
		if value[0].key == "$ref" {
			value = node{{"anyOf", []node{value, {{"type", "null"}}}}}
		} else {
			value[0].value = []string{value[0].value.(string), "null"} //nolint:forcetypeassert // a simple type
		}
	}
	return append(s.described(path), value...)
}

// value describes the values of a type, without what it means.
func (s schemaWriter) value(path string, t reflect.Type) node {
	switch t {
	case reflect.TypeFor[report.Time]():
		return s.ref("time", node{{"type", []string{"string", "null"}}, {"pattern", `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`}})
	case reflect.TypeFor[money.USD]():
		return s.ref("cost", node{{"type", []string{"number", "null"}}})
	case reflect.TypeFor[event.Outcome]():
		return s.ref("outcome", node{{"type", "string"}, {"enum", enums()["outcome"]}})
	case reflect.TypeFor[json.RawMessage]():
		return node{{"type", []string{"object", "array", "string", "number", "boolean", "null"}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(path, t.Elem())
	case reflect.Slice:
		return node{{"type", "array"}, {"items", s.value(path, t.Elem())}}
	case reflect.Map:
		if t.Elem() == reflect.TypeFor[any]() {
			return node{{"type", "object"}}
		}
		return node{{"type", "object"}, {"additionalProperties", s.value(path, t.Elem())}}
	case reflect.Struct:
		if describedInPlace(t) {
			return s.object(path, t)[len(s.described(path)):]
		}
		return s.definition(t)
	case reflect.Bool:
		return node{{"type", "boolean"}}
	case reflect.String:
		return node{{"type", "string"}}
	case reflect.Float64:
		return node{{"type", "number"}}
	default:
		return node{{"type", "integer"}}
	}
}

// definition describes a struct once and refers to it.
func (s schemaWriter) definition(t reflect.Type) node {
	name := definitions()[t]
	if name == "" {
		name = snake(t.Name())
	}
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = nil // a type may contain itself
		s.defs[name] = s.object(name, t)
	}
	return node{{"$ref", "#/$defs/" + name}}
}

// ref refers to a definition, which it sets.
func (s schemaWriter) ref(name string, def node) node {
	s.defs[name] = append(s.described(name), def...)
	return node{{"$ref", "#/$defs/" + name}}
}

// snake returns the name of a Go type in the form of JSON names.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(c)))
	}
	return b.String()
}

// node is a JSON object whose members have an order.
type node []member

type member struct {
	key   string
	value any
}

func (n node) get(key string) any {
	for _, m := range n {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// open reports whether an object is written on several lines: one with properties.
func (n node) open() bool {
	items, _ := n.get("items").(node)
	return n.get("properties") != nil || items.get("properties") != nil
}

// write writes an object whose first line is indented already.
func (n node) write(out *bytes.Buffer, indent string) {
	n.writeMembers(out, indent, n.open())
}

func (n node) writeMembers(out *bytes.Buffer, indent string, open bool) {
	separator, end, inner := ", ", "}", indent
	out.WriteByte('{')
	if open {
		inner = indent + "  "
		separator, end = ",\n"+inner, "\n"+indent+"}"
		out.WriteString("\n" + inner)
	}
	for i, m := range n {
		if i > 0 {
			out.WriteString(separator)
		}
		fmt.Fprintf(out, "%q: ", m.key)
		if object, ok := m.value.(node); ok {
			object.writeMembers(out, inner, object.open() || m.key == "properties" || m.key == "$defs")
			continue
		}
		writeFlat(out, m.value)
	}
	out.WriteString(end)
}

// writeFlat writes a value on one line.
func writeFlat(out *bytes.Buffer, value any) {
	switch value := value.(type) {
	case []node:
		out.WriteByte('[')
		for i, n := range value {
			if i > 0 {
				out.WriteString(", ")
			}
			n.writeMembers(out, "", false)
		}
		out.WriteByte(']')
	case []string:
		out.WriteByte('[')
		for i, text := range value {
			if i > 0 {
				out.WriteString(", ")
			}
			writeFlat(out, text)
		}
		out.WriteByte(']')
	default:
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(value) // texts, numbers and truth values can be encoded
		out.Truncate(out.Len() - 1)
	}
}
