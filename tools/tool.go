package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/ignore"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/redact"
	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/internal/workspace"
)

// Spec is what is known of a tool before it is called.
type Spec struct {
	Name        string
	Description string
	Schema      map[string]any // JSON Schema of its arguments
	ReadOnly    bool           // changes nothing: such calls of one turn may run side by side
	SideBySide  bool           // may run beside others of its turn although it changes things
	Internal    bool           // what it does stays in the session, or is done by calls of its own
	Tail        bool           // what it says last counts most: where its answer is cut, the beginning goes
	Cached      bool           // answers the same until something is written or run
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
	// Attachments are given to the model beside the Output.
	Attachments []Attachment
	Tail        bool  // too long an output keeps its end, not its beginning
	Bounded     bool  // the tool has cut its output itself and said so: it is not cut again
	Cut         bool  // with Bounded: something was left out
	Bytes       int64 // size of the whole output if Output is not all of it
}

// Attachment is a file that a model sees as it is.
type Attachment struct {
	Name string
	MIME string // image/png, application/pdf, ...
	Data []byte
}

// Env is what the tools of one session work with.
type Env struct {
	Workspace *workspace.Workspace
	Profile   permission.Profile
	Ignore    *ignore.Matcher // ignore rules from outside the workspace's own .gitignore files
	Todos     *Todos
	ChildEnv  []string                        // environment of commands
	Confine   proc.Confine                    // the sandbox of commands; nil: none
	Beside    func(ctx context.Context) error // runs beside each command and may end it; nil: nothing does
	MaxTime   time.Duration                   // upper bound of a command's own timeout; 0: none
	Outputs   *reportdir.Dir                  // where outputs are kept that are too long to be returned; nil keeps none
	Private   []string                        // absolute directories that no call uses but to read kept outputs: those of reports
	Limits    OutputLimits
	Redact    *redact.Redactor // takes secrets out of what the model and the record get; nil: none are known
	Now       func() time.Time

	// Model is the id of the model that the tools are for, which some tools
	// are made for; "" offers the tools for all.
	Model  string
	Images bool // the model takes images as attachments
	PDFs   bool // and PDF files
	Batch  bool // the batch tool is enabled
	Search SearchConfig
	Skills []Skill // what [FindSkills] found
	// SkillProblems are what FindSkills found wrong with others, for a model
	// that asks for one of them.
	SkillProblems []error
	Agents        []Agent // whom the task tool can start, with Spawn
	// Spawn runs a subagent to its end; nil: there is no task tool. It must
	// be safe for concurrent use.
	Spawn func(context.Context, SpawnRequest) (SpawnResult, error)
	// Nested carries out a call that another call asked for, recording it as
	// one of its own; nil: it is carried out without a record of its own. It
	// must be safe for concurrent use.
	Nested func(context.Context, Call) Outcome
	// Tree is shared by all sessions on one workspace. nil: no two calls ever
	// run side by side, and no answer is kept.
	Tree *Tree
	// Cache keeps this session's answers, with Tree. nil keeps none.
	Cache *Cache
}

// OutputLimits bounds what one call gives back to the model. The zero value
// means the defaults, 2,000 lines and 50 KiB.
type OutputLimits struct {
	Lines int
	Bytes int
}
