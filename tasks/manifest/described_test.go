package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// describer describes values in a directory, which is DIR.
type describer struct{ dir string }

// text is everything in a value that is not zero, with unexported fields and positions: a line for each field, or several if it is long.
// The rules of presets, which have tests of their own, are left out.
func (d describer) text(name string, value any) string {
	var out strings.Builder
	if n := d.describe(name, reflect.ValueOf(value)); n != nil {
		n.write(&out, 0)
	}
	return out.String()
}

// node is a value as text, or what it consists of.
type node struct {
	name, text string
	in         []*node
}

// maxLine is the length of a line of a value with several fields.
const maxLine = 200

func (n *node) line() string {
	if n.in == nil {
		return strings.TrimSpace(n.name + " " + n.text)
	}
	parts := make([]string, len(n.in))
	for i, one := range n.in {
		parts[i] = one.line()
	}
	return strings.TrimSpace(n.name + " {" + strings.Join(parts, ", ") + "}")
}

func (n *node) write(out *strings.Builder, depth int) {
	line := n.line()
	switch {
	case n.name == "" && depth == 0 && n.in != nil:
		depth = -1
	case n.in == nil || len(line) <= maxLine:
		out.WriteString(strings.Repeat("  ", depth) + line + "\n")
		return
	case n.name == "":
		out.WriteString(strings.Repeat("  ", depth) + "-\n")
	default:
		out.WriteString(strings.Repeat("  ", depth) + n.name + "\n")
	}
	for _, one := range n.in {
		one.write(out, depth+1)
	}
}

// describe returns nil for a value that is zero, a default without a position, or left out.
func (d describer) describe(name string, v reflect.Value) *node {
	if !v.IsValid() || v.IsZero() {
		return nil
	}
	switch v.Type() {
	case reflect.TypeFor[*form.Source](), reflect.TypeFor[*Manifest](), reflect.TypeFor[*Loader](), reflect.TypeFor[*problem.File](), reflect.TypeFor[*repolist.Lists]():
		return nil
	case reflect.TypeFor[form.Value](), reflect.TypeFor[form.Origin]():
		if at := location(v); at != "" {
			return &node{name: name, text: at}
		}
		return nil
	case reflect.TypeFor[form.Text]():
		return &node{name: name, text: strings.TrimSpace(d.quoted(v.FieldByName("S").String()) + " " + location(v))}
	case reflect.TypeFor[permission.Rule]():
		if v.FieldByName("Preset").Bool() {
			return nil
		}
	case reflect.TypeFor[time.Duration]():
		return &node{name: name, text: time.Duration(v.Int()).String()}
	case reflect.TypeFor[permission.Effect]():
		return &node{name: name, text: permission.Effect(v.Int()).String()}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if n := d.describe(name, v.Elem()); n != nil {
			return n
		}
		return &node{name: name, text: "zero"}
	case reflect.String:
		return &node{name: name, text: d.quoted(v.String())}
	case reflect.Struct:
		return &node{name: name, in: d.fields(v)}
	case reflect.Map:
		return &node{name: name, in: d.entries(v)}
	case reflect.Slice:
		return d.list(name, v)
	default:
		return &node{name: name, text: fmt.Sprint(v)}
	}
}

// fields describes a struct; what it embeds has no name.
func (d describer) fields(v reflect.Value) (all []*node) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			f.Name = ""
		}
		switch one := d.describe(f.Name, v.Field(i)); {
		case one == nil:
		case f.Anonymous && one.in != nil:
			all = append(all, one.in...)
		default:
			all = append(all, one)
		}
	}
	return all
}

func (d describer) entries(v reflect.Value) (all []*node) {
	for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
		one := d.describe(d.quoted(key.String()), v.MapIndex(key))
		if one == nil {
			one = &node{name: d.quoted(key.String()), text: "zero"}
		}
		all = append(all, one)
	}
	return all
}

func (d describer) list(name string, v reflect.Value) *node {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return &node{name: name, text: string(v.Bytes())}
	}
	n := &node{name: name}
	for i := range v.Len() {
		if one := d.describe("", v.Index(i)); one != nil {
			n.in = append(n.in, one)
		}
	}
	if v.Len() == 0 {
		n.text = "empty"
	}
	return n
}

// quoted is a string in quotes; a digest is abbreviated.
func (d describer) quoted(s string) string {
	if len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" {
		return "digest " + s[:8]
	}
	return strconv.Quote(strings.ReplaceAll(s, d.dir, "DIR"))
}

// location is the line and column of a value; "" for one that is in no file.
func location(v reflect.Value) string {
	use := v.FieldByName("Use")
	if use.IsNil() || use.Elem().FieldByName("Line").Int() == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", use.Elem().FieldByName("Line").Int(), use.Elem().FieldByName("Column").Int())
}
