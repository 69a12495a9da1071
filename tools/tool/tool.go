// Package tool is what those who implement a tool need: how they describe it, what a prepared call and its result are,
// and the hooks around calls. It knows no tool, and neither decides nor runs calls.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/permission"
)

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string
	Schema      map[string]any // JSON Schema of the arguments
	ReadOnly    bool           // has no side effects: such calls of one turn may run in parallel
	Parallel    bool           // may run in parallel with others of its turn although it has side effects
	Writes      bool           // changes nothing but the files that it reports as changes of the workspace
	Internal    bool           // affects only the session's state, or acts through nested calls
	Tail        bool           // truncate the output to its tail, not its head
	Cached      bool           // the result stays the same until a file is written or a command run
	Deadline    time.Duration  // timeout of a call; 0 if the tool sets its own
	Extension   string         // name of the program that runs its calls, such as an MCP server; "" for none
	Foreign     string         // what its results are, if others have written them, such as a web page; "" for others
}

// Tool is a tool that a model can call, with what it needs of a session.
type Tool[Env any] interface {
	Spec() Spec
	// Prepare reads the arguments, which are valid by the Spec's schema, and
	// lists the permissions that the call needs. It has no side effects. An
	// error means a failed call; its text is for the model.
	Prepare(env Env, input json.RawMessage) (Pending, error)
}

// within is a tool in a larger environment.
type within[Outer, Inner any] struct {
	Tool[Inner]
	inner func(Outer) Inner
}

// In returns a tool in a larger environment, and how what it needs follows from that.
func In[Outer, Inner any](t Tool[Inner], inner func(Outer) Inner) Tool[Outer] {
	return within[Outer, Inner]{t, inner}
}

// Prepare implements Tool.
func (w within[Outer, Inner]) Prepare(env Outer, input json.RawMessage) (Pending, error) {
	return w.Tool.Prepare(w.inner(env), input)
}

// Pending is a prepared call that is not yet allowed.
type Pending struct {
	Title string               // short text for people: a path, a command
	Needs []permission.Request // all of them must be allowed
	Names []string             // paths of the workspace that the call names, beside those of Needs
	Do    func(context.Context) (Result, error)
}

// Result is the result of a call. If there is an error, too, the call failed,
// and the model gets the error's text.
type Result struct {
	Title    string // replaces the Pending's if set
	Output   string
	Metadata Metadata
	// Attachments are sent to the model in addition to Output.
	Attachments []Attachment
	Tail        bool   // truncate Output to its tail, not its head
	Terminal    bool   // Output may be written for a terminal: the model gets what one would show
	Bounded     bool   // the tool truncated Output itself; it is not truncated again
	Cut         bool   // with Bounded: something was omitted
	Bytes       int64  // size of the full output if Output is truncated
	Extension   string // name of the program that ran the call, if the tool has several; see [Spec]
	Diagnosed   bool   // language servers have added errors to Output
}

// Attachment is a file sent to the model unchanged.
type Attachment struct {
	Name string
	MIME string // image/png, application/pdf, ...
	Data []byte
}

// callID is the context key of the running call's id.
type callID struct{}

// WithCallID returns the context of a running call.
func WithCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callID{}, id)
}

// CallID returns the id of the running call.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callID{}).(string)
	return id
}
