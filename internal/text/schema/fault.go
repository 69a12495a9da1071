package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Fault is one way in which a document violates its schema.
type Fault struct {
	At   []string // keys and indexes that lead to the value
	Kind Kind
}

// Kind is what is wrong with a value: a pointer to [Required], [AdditionalProperties],
// [Type] or [Enum], or [Other].
type Kind interface {
	// String returns it in English.
	String() string
}

type (
	// Required is a missing key.
	Required struct{ Missing []string }
	// AdditionalProperties is an unknown key.
	AdditionalProperties struct{ Properties []string }
	// Type is a value of the wrong type.
	Type struct {
		Got  string
		Want []string
	}
	// Enum is a value that is not in a list.
	Enum struct {
		Got  any
		Want []any
	}
	// Other is any other fault, as its text.
	Other string
)

// String implements Kind.
func (k *Required) String() string {
	if len(k.Missing) == 1 {
		return "missing property " + quote(k.Missing[0])
	}
	return "missing properties " + quoteAll(k.Missing)
}

// String implements Kind.
func (k *AdditionalProperties) String() string {
	return "additional properties " + quoteAll(k.Properties) + " not allowed"
}

// String implements Kind.
func (k *Type) String() string {
	return "got " + k.Got + ", want " + strings.Join(k.Want, " or ")
}

// String implements Kind.
func (k *Enum) String() string {
	if len(k.Want) == 1 {
		return "value must be " + display(k.Want[0])
	}
	all := make([]string, len(k.Want))
	for i, v := range k.Want {
		all[i] = display(v)
	}
	return "value must be one of " + strings.Join(all, ", ")
}

// String implements Kind.
func (k Other) String() string { return string(k) }

// String returns what is wrong, in English and without the location.
func (f Fault) String() string { return f.Kind.String() }

// Faults are the faults of a document, at least one and at most 100.
type Faults []Fault

// Error lists the faults with their locations.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = "at /" + strings.Join(f.At, "/") + ": " + f.String()
	}
	return strings.Join(lines, "; ")
}

// quote returns a short text in single quotes, or the start of a long one.
func quote(s string) string {
	s = fmt.Sprintf("%q", brief(s))
	s = strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(s, `'`, `\'`) + "'"
}

func quoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, ", ")
}

// display returns a value of a schema: texts in quotes, lists and objects as JSON.
func display(v any) string {
	if s, ok := v.(string); ok {
		return quote(s)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return brief(string(data))
}

// brief returns a short text, or the start of a long one.
func brief(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
