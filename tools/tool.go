package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/gitops/ignore"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/redact"
)

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string
	Schema      map[string]any // JSON Schema of the arguments
	ReadOnly    bool           // has no side effects: such calls of one turn may run in parallel
	Parallel    bool           // may run in parallel with others of its turn although it has side effects
	Writes      bool           // changes nothing but the files that it reports to [Tree]
	Internal    bool           // affects only the session's state, or acts through nested calls
	Tail        bool           // truncate the output to its tail, not its head
	Cached      bool           // the result stays the same until a file is written or a command run
	Deadline    time.Duration  // timeout of a call; 0 if the tool sets its own
	Extension   string         // name of the program that runs its calls, such as an MCP server; "" for none
}

// Tool is a tool that a model can call.
type Tool interface {
	Spec() Spec
	// Prepare reads the arguments, which are valid by the Spec's schema, and
	// lists the permissions that the call needs. It has no side effects. An
	// error means a failed call; its text is for the model.
	Prepare(env *Env, input json.RawMessage) (Pending, error)
}

// Pending is a prepared call that is not yet allowed.
type Pending struct {
	Title string               // short text for people: a path, a command
	Needs []permission.Request // all of them must be allowed
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
}

// Attachment is a file sent to the model unchanged.
type Attachment struct {
	Name string
	MIME string // image/png, application/pdf, ...
	Data []byte
}

// Env is the environment of the tools of one session.
type Env struct {
	Workspace *workspace.Workspace
	// Complete is called before each call. It waits until the workspace is complete, and sets
	// the fields that depend on it: Workspace, Ignore, ChildEnv and Commands. nil: they are set.
	Complete func(context.Context, *Env) error
	Profile  permission.Profile
	Ignore   ignore.Tree // what git ignores in the workspace, in addition to its own .gitignore files
	Todos    *Todos
	Notes    *Notes   // instructions of directories below the workspace's root; nil: read attaches none
	ChildEnv []string // environment of commands
	Commands Commands
	Outputs  *files.Dir // where truncated outputs are saved in full; nil: nowhere
	Private  []string   // absolute report directories, inaccessible to calls except for reading saved outputs; and private files of the system
	Limits   OutputLimits
	Redact   *redact.Redactor // redacts secrets in results and records; nil: none are known
	Now      func() time.Time

	// Model is the id of the model, by which its editing tools are chosen; ""
	// offers all tools.
	Model   string
	Accepts Attachments // of the model
	Batch   bool        // the batch tool is enabled
	Search  SearchConfig
	Skills  Skills
	Agents  []Agent // agents that the task tool can start, with Spawn
	// Spawn runs a subagent to completion; nil: no task tool. It must be safe
	// for concurrent use.
	Spawn func(context.Context, SpawnRequest) (SpawnResult, error)
	// Nested runs a call that another call requested, and records it as a
	// separate call; nil: it runs without a separate record. It must be safe
	// for concurrent use.
	Nested func(context.Context, Call) Outcome
	// Hooks are called in their order around each call, also of batch and of prompts.
	Hooks []Hook
	// Languages are the language servers; nil: none, and no tool lsp.
	Languages *Languages
	// Tree is shared by all sessions in one workspace. nil: calls never run in
	// parallel, and no result is cached.
	Tree *Tree
	// Cache caches this session's results; it needs Tree. nil: no cache.
	Cache *Cache
}

// Attachments are the kinds of attachments that a model supports.
type Attachments struct{ Images, PDFs bool }

// Commands is how the commands of a session are run. The zero value: without a sandbox.
type Commands struct {
	Confine proc.Confine                    // the sandbox; nil: none
	Granted proc.Confine                    // the sandbox of custom tools with Writes, if it is another; nil: Confine
	Monitor func(ctx context.Context) error // runs concurrently with each command; returning kills the command; may be nil
	MaxTime time.Duration                   // upper limit of timeouts; 0: no limit
	Scratch Scratch                         // private directories
	Fault   func(error)                     // gets the error of a call that failed because the machine lacks something; may be nil
}

// OutputLimits limits the output that one call returns to the model. The zero
// value means the defaults, 2,000 lines and 50 KiB.
type OutputLimits struct {
	Lines int
	Bytes int
}
