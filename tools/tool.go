package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/ignore"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/workspace"
)

// Spec is what is known of a tool before it is called.
type Spec struct {
	Name        string
	Description string
	Schema      map[string]any // JSON Schema of its arguments
	ReadOnly    bool           // changes nothing: such calls of one turn may run side by side
	Deadline    time.Duration  // after which a call is ended; 0 if the tool sets its own
}

// Tool is one thing that a model can do.
type Tool interface {
	Spec() Spec
	// Prepare reads the arguments, which are valid by the Spec's schema, and
	// says what the call needs; it changes nothing. A refusal is a failed call
	// and its text is for the model.
	Prepare(env *Env, input json.RawMessage) (Pending, error)
}

// Pending is a call that was understood but not yet allowed.
type Pending struct {
	Title string               // a few words for people: a path, a command
	Needs []permission.Request // all of them must be allowed
	Do    func(context.Context) (Result, error)
}

// Result is what a tool answers. An error beside it means that the tool
// failed; its text is the answer then.
type Result struct {
	Title    string // replaces the Pending's when set
	Output   string
	Metadata map[string]any
	Tail     bool  // too long an output keeps its end, not its beginning
	Bounded  bool  // the tool has cut its output itself and said so: it is not cut again
	Cut      bool  // with Bounded: something was left out
	Bytes    int64 // size of the whole output if Output is not all of it
}

// Env is what the tools of one session work with.
type Env struct {
	Workspace *workspace.Workspace
	Profile   permission.Profile
	Ignore    *ignore.Matcher // ignore rules from outside the workspace's own .gitignore files
	Todos     *Todos
	ChildEnv  []string      // environment of commands
	MaxTime   time.Duration // upper bound of a command's own timeout; 0: none
	Outputs   string        // folder that keeps outputs too long to be given whole; "" keeps none
	Limits    OutputLimits
	Now       func() time.Time
}

// OutputLimits bounds what one call gives back to the model. The zero value
// means the defaults, 2,000 lines and 50 KiB.
type OutputLimits struct {
	Lines int
	Bytes int
}
