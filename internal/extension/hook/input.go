package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// Input is the standard input of a hook, a JSON object. Other agents use the same names.
// Later releases may add keys.
type Input struct {
	Version int             `json:"version"` // 1
	Event   tasks.HookEvent `json:"hook_event_name"`
	Run     string          `json:"run_id"`
	Job     string          `json:"job_id,omitempty"`
	Task    string          `json:"task,omitempty"`
	Repo    string          `json:"repo,omitempty"`
	Dir     string          `json:"cwd"`

	Session string          `json:"session_id,omitempty"` // of a call
	Agent   string          `json:"agent,omitempty"`
	Tool    string          `json:"tool_name,omitempty"`
	Call    string          `json:"tool_use_id,omitempty"`
	Args    json.RawMessage `json:"tool_input,omitempty"`
	Result  *Result         `json:"tool_response,omitempty"` // of after_tool

	Changes []string `json:"changes,omitempty"` // of before_commit: paths in the repository
	Commit  *Commit  `json:"commit,omitempty"`  // of after_commit and later

	// Of job_end and run_end.
	Outcome  event.Outcome `json:"outcome,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Code     event.Code    `json:"reason_code,omitempty"`
	ExitCode *event.Exit   `json:"exit_code,omitempty"`
	Jobs     []Ended       `json:"jobs,omitempty"` // of run_end
}

// Result is the result of a tool call.
type Result struct {
	Title  string `json:"title"`
	Output string `json:"output"`
	Error  string `json:"error"` // empty if the call completed
}

// Commit is the commit of a job.
type Commit struct {
	Hash   string `json:"hash"`
	Branch string `json:"branch"`
}

// Ended is a job that has ended.
type Ended struct {
	Job     string        `json:"job_id"`
	Outcome event.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Code    event.Code    `json:"reason_code,omitempty"`
}

// of returns the input for a call.
func (in Input) of(c tools.HookCall) Input {
	in.Tool, in.Call, in.Args = c.Tool, c.ID, arguments(c.Input)
	return in
}

// arguments returns the arguments of a call as tools read them: without escapes that JSON does
// not need, so that also a simple search finds a text, and each key once. Those that are not
// JSON, which fail the call, are a string.
func arguments(input json.RawMessage) json.RawMessage {
	if input = bytes.TrimSpace(input); len(input) == 0 || string(input) == "null" {
		return json.RawMessage("{}")
	}
	var value any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	err := dec.Decode(&value)
	if _, more := dec.Token(); err != nil || !errors.Is(more, io.EOF) {
		value = string(input)
	}
	text, err := encode(value)
	if err != nil {
		return json.RawMessage("{}") // a value of JSON, or a string, always has one
	}
	return text
}

// encode returns a value as JSON in one line, in which <, > and & are not escaped.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err //nolint:wrapcheck // its text names the value
}
