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
	Index int64 // which call it belongs to; -1 when missing
	ID    string
	Name  string
	Input string
	Chunk int // number of the event that brought it
}

// call is a tool call under construction.
type call struct {
	order int64 // where the model put it: its index, or after the call before it
	index int64
	wire  string // the id that the provider uses
	id    string // the id that we use; "" until one is known
	name  string
	input strings.Builder
	shown int // bytes of input that were emitted
	chunk int // number of the chunk that touched it last
}

// Calls puts tool calls together from the pieces in which they stream in.
//
// By the protocol a piece belongs to the call of its index, and only the first
// piece of a call has an id and a name. Servers stray: the index is missing or
// 0 for every call; ids come late, never, twice, or anew with every piece;
// names come late or with every piece; a call comes whole, several at once. So
// the index and the id lead to the call that a piece may continue, and what the
// piece and the call hold decides whether it does.
type Calls struct {
	all     []*call
	used    map[string]bool // ids of this response
	earlier map[string]bool // ids of the conversation before it
	emit    func(model.Delta)
	size    int
}

// NewCalls begins the calls of a response to req.
func NewCalls(req model.Request, emit func(model.Delta)) *Calls {
	earlier := map[string]bool{}
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			earlier[c.ID] = true
		}
	}
	return &Calls{used: map[string]bool{}, earlier: earlier, emit: emit}
}

// MaxCalls bounds the work that a response can cause; no regular one comes near.
const MaxCalls = 1024

// Size is how many bytes came in pieces so far.
func (cs *Calls) Size() int { return cs.size }

// Add takes the next piece. It returns false if there are too many calls.
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

// find returns the latest call that p may belong to: one of its index and its
// id, else the last of its index. A piece without an index may belong to any.
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

// repeats reports whether p tells all of c once more, which some servers do when
// the pieces are done.
func repeats(c *call, p CallDelta) bool {
	same := p.ID == c.wire && (p.Name == "" || p.Name == c.name)
	if p.ID == "" {
		same = p.Name == ""
	}
	return same && p.Input != "" && p.Input == c.input.String() && complete(p.Input)
}

// begins reports whether p is the start of another call than c, which it would
// continue by index or id alone.
func begins(c *call, p CallDelta) bool {
	another := p.ID != "" && c.wire != "" && p.ID != c.wire
	switch {
	case p.Name == "":
		// A new id without a name continues the call, unless that is complete:
		// there are servers that make up an id for every piece.
		return another && p.Input != "" && complete(c.input.String())
	case another:
		return true
	case c.name == "":
		return false // the name came late
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

// begin makes a call for p, behind the last one if p does not say where.
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
	if c.name != p.Name { // else it is repeated
		c.name += p.Name
	}
}

// identify gives c the id of the wire, or one of its own if another call has
// that already.
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

// fresh makes an id that nobody has, in this response or before it.
func (cs *Calls) fresh() string {
	for n := 1; ; n++ {
		id := "call_" + strconv.Itoa(n)
		if !cs.earlier[id] && !cs.used[id] {
			return id
		}
	}
}

// show emits what of the input was not emitted yet, once the id is known.
func (cs *Calls) show(c *call) {
	if c.id == "" || c.shown == c.input.Len() {
		return
	}
	cs.emit(model.Delta{Kind: model.InputDelta, Call: c.id, Text: c.input.String()[c.shown:]})
	c.shown = c.input.Len()
}

// Finish returns the calls in the model's order, each with an id. ok is false
// if one that has arguments never got a name.
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
		cs.show(c)
		made = append(made, model.ToolCall{ID: c.id, Name: c.name, Input: c.input.String()})
	}
	return made, true
}
