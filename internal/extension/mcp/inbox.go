package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The methods whose results are repaired before the SDK reads them.
const (
	listTools = "tools/list"
	callTool  = "tools/call"
)

const toolsChanged = "notifications/tools/list_changed"

// inbox checks the messages of a server before the SDK reads them.
type inbox struct {
	notify func(Notice)

	mu    sync.Mutex
	sent  map[string]request // those in progress, by id
	noise bool               // text that is not a message was reported
}

// request is a request to the server.
type request struct {
	id     jsonrpc.ID
	method string
}

func newInbox(notify func(Notice)) *inbox { return &inbox{notify: notify, sent: map[string]request{}} }

// note remembers a request, whose response is checked.
func (b *inbox) note(message jsonrpc.Message) {
	if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
		b.mu.Lock()
		b.sent[idText(r.ID)] = request{r.ID, r.Method}
		b.mu.Unlock()
	}
}

// take returns a message for the SDK, or the response to a request that is refused. It
// returns neither for announcements of other tools, and for other text, of which the first is
// reported.
func (b *inbox) take(text []byte) (jsonrpc.Message, *jsonrpc.Response) {
	switch message := decode(text).(type) {
	case *jsonrpc.Response:
		return b.repaired(message), nil
	case *jsonrpc.Request:
		if message.IsCall() && message.Method != "ping" {
			b.notify(Notice{Kind: Refused, Text: message.Method})
			return nil, &jsonrpc.Response{ID: message.ID, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeMethodNotFound, Message: message.Method + " is not supported: this is an unattended run",
			}}
		}
		if message.Method == toolsChanged { // before the messages that follow
			b.notify(Notice{Kind: Changed})
			return nil, nil
		}
		return message, nil
	}
	if response := b.unmatched(text); response != nil {
		return response, nil
	}
	b.mu.Lock()
	first := !b.noise
	b.noise = true
	b.mu.Unlock()
	if first {
		b.notify(Notice{Kind: Noise, Text: string(text[:min(len(text), 200)])})
	}
	return nil, nil
}

// decode decodes a message; nil for other lines. The SDK's decoder accepts texts that are not JSON, which
// can't be encoded again.
func decode(line []byte) jsonrpc.Message {
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return nil
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil
	}
	return message
}

func idText(id jsonrpc.ID) string { return fmt.Sprint(id.Raw()) }

// repaired returns a message with the invalid values removed that would make the SDK
// reject all of it.
func (b *inbox) repaired(response *jsonrpc.Response) jsonrpc.Message {
	b.mu.Lock()
	sent, known := b.sent[idText(response.ID)]
	delete(b.sent, idText(response.ID))
	b.mu.Unlock()
	text, isText := response.ID.Raw().(string)
	if isText && !known {
		sent, known = b.only()
	}
	switch {
	case isText && known && sent.id != response.ID: // the SDK would wait for another one
		return invalid(sent, fmt.Sprintf("response id %q is a string; the request's id was the number %s", text, idText(sent.id)))
	case response.Error != nil:
	case sent.method == listTools:
		response.Result = withoutInvalidTools(response.Result, b.notify)
	case sent.method == callTool:
		response.Result = withKnownContent(response.Result)
	}
	return response
}

// unmatched returns the response to the only request in progress if text is a response without a valid
// id, for which the SDK would wait; nil for other text.
func (b *inbox) unmatched(text []byte) jsonrpc.Message {
	one := bytes.TrimSpace(text)
	batch := len(one) > 1 && one[0] == '['
	if batch {
		one = one[1 : len(one)-1]
	}
	var response struct{ ID, Method, Result, Error json.RawMessage }
	if json.Unmarshal(one, &response) != nil || response.Method != nil || response.Result == nil && response.Error == nil {
		return nil
	}
	sent, ok := b.only()
	switch {
	case !ok:
		return nil
	case batch:
		return invalid(sent, "response is a batch (a JSON array), which is not supported")
	case response.Error != nil:
		return invalid(sent, fmt.Sprintf("error without the id of a request: %.500s", response.Error))
	}
	return invalid(sent, fmt.Sprintf("response without a valid id (%.50s); the request's id was the number %s", cmp.Or(string(response.ID), "none"), idText(sent.id)))
}

// only removes and returns the request in progress, if there is exactly one.
func (b *inbox) only() (r request, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sent) != 1 {
		return request{}, false
	}
	for id, sent := range b.sent {
		delete(b.sent, id)
		r = sent
	}
	return r, true
}

// invalid is the response to a request whose actual one is not valid.
func invalid(r request, fault string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: r.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fault}}
}

// withoutInvalidTools removes the tools of a list that can't be read.
func withoutInvalidTools(result json.RawMessage, notify func(Notice)) json.RawMessage {
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(result, &list) != nil || json.Unmarshal(list["tools"], &tools) != nil {
		return result
	}
	valid := []json.RawMessage{}
	for i, text := range tools {
		var t sdk.Tool
		if err := json.Unmarshal(text, &t); err != nil || t.Name == "" {
			notify(Notice{Kind: InvalidTool, Text: fmt.Sprintf("tool %d of the list is invalid", i+1)})
			continue
		}
		valid = append(valid, text)
	}
	return replaced(result, list, "tools", valid)
}

// withKnownContent replaces content of unknown kinds with texts that name them.
func withKnownContent(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var content []json.RawMessage
	if json.Unmarshal(result, &fields) != nil || json.Unmarshal(fields["content"], &content) != nil {
		return result
	}
	for i, text := range content {
		if json.Unmarshal([]byte(`{"content":[`+string(text)+`]}`), &sdk.CallToolResult{}) == nil {
			continue
		}
		var kind struct {
			Type string `json:"type"`
		}
		json.Unmarshal(text, &kind) //nolint:errcheck // "" is named as unknown
		if kind.Type == "" {
			kind.Type = "unknown"
		}
		content[i], _ = json.Marshal(map[string]string{"type": "text", "text": fmt.Sprintf("(%s content of %d bytes, not supported)", kind.Type, len(text))})
	}
	return replaced(result, fields, "content", content)
}

// replaced returns an object with another value of one key, or unchanged if that fails.
func replaced(original json.RawMessage, object map[string]json.RawMessage, key string, value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return original
	}
	object[key] = text
	all, err := json.Marshal(object)
	if err != nil {
		return original
	}
	return all
}
