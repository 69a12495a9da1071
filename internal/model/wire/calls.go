package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/millhand/millhand/internal/model"
)

// CallDelta is the data of one stream event about a tool call.
type CallDelta struct {
	Index int64 // index of its call; -1 if missing
	ID    string
	Name  string
	Input string
	Chunk int // number of the event that contained it
}

// call is a tool call under construction.
type call struct {
	order int64 // its position: its index, or after the previous call
	index int64
	wire  string // id from the provider
	id    string // id in our conversation; "" until known
	name  string
	input strings.Builder
	begun bool // its start was emitted
	shown int  // bytes of input that were emitted
	chunk int  // number of the last chunk that changed it
}

// Calls assembles tool calls from streamed deltas.
//
// By the protocol a delta belongs to the call with its index, and only the first
// delta of a call has an id and a name. Servers deviate: the index is missing or
// 0 for every call; ids are late, missing, repeated, or new in every delta;
// names are late or repeated; a call is sent complete, or several in one chunk. So
// index and id select the call that a delta may continue, and the content of
// both decides whether it does.
type Calls struct {
	all     []*call
	used    map[string]bool // ids of this response
	earlier map[string]bool // ids of the conversation before it
	emit    func(model.Delta)
	size    int
}

// NewCalls returns an empty Calls for the response to req.
func NewCalls(req model.Request, emit func(model.Delta)) *Calls {
	earlier := map[string]bool{}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			earlier[c.ID] = true
		}
	}
	return &Calls{used: map[string]bool{}, earlier: earlier, emit: emit}
}

// MaxCalls limits the work that a response can cause. Real responses have far fewer.
const MaxCalls = 1024

// Size returns the number of bytes received in deltas so far.
func (cs *Calls) Size() int { return cs.size }

// Add adds the next delta. It returns false if there are too many calls.
func (cs *Calls) Add(p CallDelta) bool {
	cs.size += len(p.Input) + len(p.Name) + len(p.ID)
	c := cs.find(p)
	switch {
	case c != nil && repeats(c, p):
		return true
	case c == nil || begins(c, p):
		if c != nil && p.ID == "" && p.Name == "" && p.Input == "" {
			return true
		}
		c = cs.begin(p)
	}
	c.take(p)
	cs.identify(c, p.ID)
	cs.show(c)
	return len(cs.all) <= MaxCalls
}

// find returns the latest call that p may belong to: one with its index and id, or
// otherwise the last with its index. A delta without an index may belong to any call.
func (cs *Calls) find(p CallDelta) *call {
	var last *call
	for _, c := range slices.Backward(cs.all) {
		if p.Index >= 0 && c.index != p.Index {
			continue
		}
		if p.ID == "" || c.wire == p.ID {
			return c
		}
		if last == nil {
			last = c
		}
	}
	return last
}

// repeats reports whether p repeats the complete call c, which some servers send after
// the deltas.
func repeats(c *call, p CallDelta) bool {
	same := p.ID == c.wire && (p.Name == "" || p.Name == c.name)
	if p.ID == "" {
		same = p.Name == ""
	}
	return same && p.Input != "" && p.Input == c.input.String() && complete(p.Input)
}

// begins reports whether p starts a new call, although its index or id would select c.
func begins(c *call, p CallDelta) bool {
	another := p.ID != "" && c.wire != "" && p.ID != c.wire
	switch {
	case p.Name == "":
		// A new id without a name continues the call, unless the call is complete:
		// some servers generate a new id for every delta.
		return another && p.Input != "" && complete(c.input.String())
	case another:
		return true
	case c.name == "":
		return false // the name was late
	case c.chunk == p.Chunk:
		return true // two entries of one list
	case c.name != p.Name:
		return c.input.Len() > 0 || p.Input != ""
	}
	return strings.HasPrefix(strings.TrimSpace(p.Input), "{") && complete(c.input.String())
}

// complete reports whether s is a complete JSON object.
func complete(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// begin creates a call for p, after the last one if p has no index.
func (cs *Calls) begin(p CallDelta) *call {
	c := &call{index: p.Index, order: p.Index}
	if n := len(cs.all); p.Index < 0 && n > 0 {
		c.order = cs.all[n-1].order
	}
	cs.all = append(cs.all, c)
	return c
}

func (c *call) take(p CallDelta) {
	c.chunk = p.Chunk
	c.input.WriteString(p.Input)
	if c.name != p.Name { // otherwise it is a repetition
		c.name += p.Name
	}
}

// identify sets c's id to the provider's, or to a new one if another call has that id.
func (cs *Calls) identify(c *call, id string) {
	if id == "" {
		return
	}
	c.wire = cmp.Or(c.wire, id)
	if c.id != "" {
		return
	}
	if cs.used[id] {
		id = cs.fresh()
	}
	c.id = id
	cs.used[id] = true
}

// fresh returns an id that is unique in this response and the conversation.
func (cs *Calls) fresh() string {
	for n := 1; ; n++ {
		id := "call_" + strconv.Itoa(n)
		if !cs.earlier[id] && !cs.used[id] {
			return id
		}
	}
}

// show emits the start of a call and the input that was not emitted yet, once the id
// and the name are known. Parts of names may follow until the first input.
func (cs *Calls) show(c *call) {
	if c.id == "" || c.name == "" || c.shown == c.input.Len() {
		return
	}
	cs.begun(c)
	cs.emit(model.Delta{Kind: model.InputDelta, Call: c.id, Text: c.input.String()[c.shown:]})
	c.shown = c.input.Len()
}

// begun emits the start of a call.
func (cs *Calls) begun(c *call) {
	if !c.begun {
		c.begun = true
		cs.emit(model.Delta{Kind: model.CallDelta, Call: c.id, Text: c.name})
	}
}

// Finish returns the calls in the model's order, each with an id. ok is false
// if a call with arguments has no name.
func (cs *Calls) Finish() (made []model.ToolCall, ok bool) {
	slices.SortStableFunc(cs.all, func(a, b *call) int { return cmp.Compare(a.order, b.order) })
	for _, c := range cs.all {
		if c.name == "" {
			if c.input.Len() > 0 {
				return nil, false
			}
			continue
		}
		if c.id == "" {
			cs.identify(c, cs.fresh())
		}
		cs.begun(c)
		cs.show(c)
		made = append(made, model.ToolCall{ID: c.id, Name: c.name, Input: c.input.String()})
	}
	return made, true
}
