package wire

import (
	"bytes"
	"slices"
	"sync"

	"github.com/millhand/millhand/internal/model"
)

const (
	maxHistories = 64
	maxHistory   = 32 << 20 // bytes of all histories together
)

// Histories encodes conversations, each message once: the prefix that a request
// shares with the previous one of its conversation is only compared, which is cheap
// for strings that are the same in memory. The cache has a size limit; what exceeds
// it is encoded again.
//
// It must not be copied. It is safe for concurrent use.
type Histories struct {
	// Group returns the number of messages at the start of a non-empty list that
	// are encoded as one. Later messages must not change their encoding.
	Group func([]model.Message) int
	// Encode appends the encoding of the group all[from:to], each element
	// preceded by a comma.
	Encode func(dst []byte, all []model.Message, from, to int) ([]byte, error)

	mu   sync.Mutex
	list []*history // the most recently used is last
	size int        // bytes in list
}

// history is the encoded prefix of a conversation.
type history struct {
	session  string // its session, if known
	messages []model.Message
	groups   []int // their ends in messages
	encoded  []byte
}

// Append returns the encoded messages: elements of a JSON array, each preceded by a
// comma. The bytes must not be changed. For a named session only the last
// conversation is cached: removed content does not return.
func (h *Histories) Append(session string, messages []model.Message) ([]byte, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.take(session, messages)
	h.size -= len(known.encoded)
	err := h.extend(known, messages)
	h.keep(known)
	// Later requests append only after this length.
	return slices.Clip(known.encoded), err
}

// Rest encodes the remaining messages[from:] with encode: those at the end of a
// conversation whose encoding differs once the conversation has grown.
func (h *Histories) Rest(messages []model.Message, from int, encode func(dst []byte, all []model.Message, from, to int) ([]byte, error)) (dst []byte, err error) {
	for from < len(messages) {
		to := from + h.Group(messages[from:])
		if dst, err = encode(dst, messages, from, to); err != nil {
			return nil, err
		}
		from = to
	}
	return dst, nil
}

// take removes the history that messages continue, or creates a new one.
func (h *Histories) take(session string, messages []model.Message) *history {
	for i, known := range slices.Backward(h.list) {
		if h.continues(known, messages) {
			h.list = slices.Delete(h.list, i, i+1)
			return known
		}
	}
	h.list = slices.DeleteFunc(h.list, func(old *history) bool {
		gone := session != "" && old.session == session
		if gone {
			h.size -= len(old.encoded)
		}
		return gone
	})
	return &history{session: session}
}

func (h *Histories) continues(known *history, messages []model.Message) bool {
	if len(known.messages) > len(messages) || len(known.groups) == 0 {
		return false
	}
	for i, m := range known.messages {
		if !same(m, messages[i]) {
			return false
		}
	}
	last := 0
	if n := len(known.groups); n > 1 {
		last = known.groups[n-2]
	}
	return last+h.Group(messages[last:]) == len(known.messages) // otherwise the last group has grown
}

func (h *Histories) extend(known *history, messages []model.Message) error {
	for from := len(known.messages); from < len(messages); from = len(known.messages) {
		to := from + h.Group(messages[from:])
		encoded, err := h.Encode(known.encoded, messages, from, to)
		if err != nil {
			return err
		}
		known.encoded = encoded
		known.messages = append(known.messages, messages[from:to]...)
		known.groups = append(known.groups, to)
	}
	return nil
}

// keep appends a history and removes the oldest ones above the limits.
func (h *Histories) keep(known *history) {
	h.list = append(h.list, known)
	h.size += len(known.encoded)
	for len(h.list) > maxHistories || h.size > maxHistory {
		h.size -= len(h.list[0].encoded)
		h.list = slices.Delete(h.list, 0, 1)
	}
}

// same reports whether two messages have the same encoding.
func same(a, b model.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.Reasoning == b.Reasoning &&
		a.CallID == b.CallID && a.Tool == b.Tool && a.Failed == b.Failed &&
		slices.Equal(a.Calls, b.Calls) &&
		slices.EqualFunc(a.Attachments, b.Attachments, sameAttachment) &&
		sameState(a.State, b.State)
}

func sameAttachment(a, b model.Attachment) bool {
	return a.Name == b.Name && a.MIME == b.MIME && bytes.Equal(a.Data, b.Data)
}

func sameState(a, b *model.State) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Wire == b.Wire && bytes.Equal(a.Data, b.Data)
}

// LastTurns returns the index of the first message of the last n groups that are
// not from the model, or 0.
func LastTurns(all []model.Message, group func([]model.Message) int, n int) int {
	var turns []int
	for at := 0; at < len(all); at += group(all[at:]) {
		if all[at].Role != model.Assistant {
			turns = append(turns, at)
		}
	}
	if len(turns) <= n {
		return 0
	}
	return turns[len(turns)-n]
}

const maxOffers = 64

// Offers encodes each list of tools once. A list is identified by its address
// in memory, so its tools must not be changed after a request.
//
// It must not be copied. It is safe for concurrent use.
type Offers struct {
	// Encode returns the value of the request's tools.
	Encode func([]model.ToolSpec) ([]byte, error)

	mu   sync.Mutex
	list []offer
}

type offer struct {
	tools   []model.ToolSpec // retained, so that its address is not reused
	encoded []byte
}

// Of returns the encoded tools, nil for none. The bytes must not be changed.
func (o *Offers) Of(tools []model.ToolSpec) ([]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, known := range o.list {
		if &known.tools[0] == &tools[0] && len(known.tools) == len(tools) {
			return known.encoded, nil
		}
	}
	encoded, err := o.Encode(tools)
	if err != nil {
		return nil, err
	}
	if len(o.list) == maxOffers {
		o.list = slices.Delete(o.list, 0, 1)
	}
	o.list = append(o.list, offer{tools, encoded})
	return encoded, nil
}
