package openai

import (
	"encoding/json"
	"fmt"

	"github.com/millhand/millhand/internal/model/wire"
)

// mostDetails bounds the items of reasoning that are stored of a response.
const mostDetails = 4096

// details puts OpenRouter's reasoning_details together: entries of the same
// type and index, one behind the other, are pieces of one, whose texts follow
// each other and whose other fields come with any of them.
type details struct {
	list []map[string]any
	size int // bytes that came
}

func (d *details) add(raw string) {
	if !wire.Present(raw) {
		return
	}
	d.size += len(raw)
	var came []map[string]any
	if json.Unmarshal([]byte(raw), &came) != nil {
		return // reasoning that can't be given back is no reason to lose a response
	}
	for _, entry := range came {
		if n := len(d.list); n > 0 && continued(d.list[n-1], entry) {
			join(d.list[n-1], entry)
		} else if entry != nil && n < mostDetails {
			d.list = append(d.list, entry)
		}
	}
}

// continued reports whether entry is a further piece of last. Encrypted entries
// come whole.
func continued(last, entry map[string]any) bool {
	return entry["type"] != "reasoning.encrypted" &&
		fmt.Sprint(last["type"], last["index"]) == fmt.Sprint(entry["type"], entry["index"])
}

func join(last, entry map[string]any) {
	for name, value := range entry {
		more, ok := value.(string)
		before, _ := last[name].(string)
		switch {
		case ok && (name == "text" || name == "summary" || name == "data"):
			last[name] = before + more
		case value != nil:
			last[name] = value
		}
	}
}

// encoded returns the entries, nil for none.
func (d *details) encoded() json.RawMessage {
	if len(d.list) == 0 {
		return nil
	}
	data, err := json.Marshal(d.list)
	if err != nil {
		return nil // can't be: it was JSON when it came
	}
	return data
}
