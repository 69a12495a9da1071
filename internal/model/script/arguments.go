package script

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"gopkg.in/yaml.v3"
)

// arguments writes a YAML mapping as the JSON object that a model would have
// written, with the keys in their order.
func (p *parser) arguments(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "args must be a mapping; other arguments go under raw, as text")
		return ""
	}
	var buf bytes.Buffer
	p.writeJSON(&buf, n)
	return buf.String()
}

func (p *parser) writeJSON(buf *bytes.Buffer, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		buf.WriteByte('{')
		comma := ""
		p.pairs(n, "args", func(key, value *yaml.Node) {
			if key.ShortTag() == "!!merge" {
				p.fail(key, "merge keys are not supported in args")
				return
			}
			buf.WriteString(comma)
			comma = ","
			writeString(buf, key.Value)
			buf.WriteByte(':')
			p.writeJSON(buf, value)
		})
		buf.WriteByte('}')
	case yaml.SequenceNode:
		buf.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				buf.WriteByte(',')
			}
			p.writeJSON(buf, resolve(item))
		}
		buf.WriteByte(']')
	default:
		p.writeScalar(buf, n)
	}
}

func (p *parser) writeScalar(buf *bytes.Buffer, n *yaml.Node) {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		buf.WriteString("null")
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			p.fail(n, "read the value: %v", err)
			return
		}
		if f, ok := v.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			p.fail(n, "JSON knows no such number as %s", n.Value)
			return
		}
		data, err := json.Marshal(v)
		if err != nil {
			p.fail(n, "write the value: %v", err)
			return
		}
		buf.Write(data)
	default: // dates and the like are text to a model
		if !strings.HasPrefix(tag, "!!") {
			p.fail(n, "the tag %s is not known", tag)
			return
		}
		writeString(buf, n.Value)
	}
}

// writeString writes a JSON string with <, > and & as they are.
func writeString(buf *bytes.Buffer, s string) {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)           // a string can always be encoded
	buf.Truncate(buf.Len() - 1) // the line feed
}
