package tools

import (
	"context"
	"time"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tools/change"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/file"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/search"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/tool"
	"github.com/millhand/millhand/tools/untrusted"
	"github.com/millhand/millhand/tools/websearch"
)

type (
	// Tool is a tool of a session: see [tool.Tool].
	Tool = tool.Tool[*Env]
	// Spec describes a tool to models: see [tool.Spec].
	Spec = tool.Spec
	// Pending is a call that is prepared and not done: see [tool.Pending].
	Pending = tool.Pending
	// Result is what a call returns: see [tool.Result].
	Result = tool.Result
	// Metadata describes a result: see [tool.Metadata].
	Metadata = tool.Metadata
	// Attachment is a file that a model sees with a result: see [tool.Attachment].
	Attachment = tool.Attachment
	// Ignored is what searches leave out: see [search.Ignored].
	Ignored = search.Ignored
	// Hook is called around calls: see [tool.Hook].
	Hook = tool.Hook
	// HookCall is the call that a hook is about: see [tool.HookCall].
	HookCall = tool.HookCall
	// HookResult is what a hook decided: see [tool.HookResult].
	HookResult = tool.HookResult
)

// Env is the environment of the tools of one session.
type Env struct {
	Workplace
	Offer
	Results
	// Complete is called before each call. It waits until the workspace is complete, and sets the Workplace. nil: it is set.
	Complete func(context.Context, *Env) error
	Profile  permission.Profile
	Private  []string // absolute report directories, inaccessible to calls except for reading saved outputs; and private files of the system
	Todos    *Todos
	Notes    *file.Notes // instructions of directories below the workspace's root; nil: read attaches none
	Now      func() time.Time

	// Spawn runs a subagent to completion; nil: no task tool. It must be safe
	// for concurrent use.
	Spawn func(context.Context, SpawnRequest) (SpawnResult, error)
	// Nested runs a call that another call requested, and records it as a
	// separate call; nil: it runs without a separate record. It must be safe
	// for concurrent use.
	Nested func(context.Context, Call) Outcome
	// Hooks are called in their order around each call, also of batch and of prompts.
	Hooks tool.Hooks
	// Changes is shared by all sessions in one workspace. nil: calls never run in
	// parallel, and no result is cached.
	Changes *change.Tracker
	// Cache caches this session's results; it needs Changes. nil: no cache.
	Cache *Cache
	// Untrusted knows what the session's job has read. The zero value: nothing is untrusted.
	Untrusted untrusted.Reader
}

// Workplace has the files that calls use, and what runs their commands.
type Workplace struct {
	Workspace *workspace.Workspace
	Ignore    Ignored  // what git ignores in the workspace, in addition to its own .gitignore files
	ChildEnv  []string // environment of commands
	Commands  command.Options
}

// Offer decides which tools are offered to the model, and their descriptions.
type Offer struct {
	Model     string         // its id, by which its editing tools are chosen; "" offers all tools
	Accepts   media.Accepted // of the model
	Batch     bool           // the batch tool is enabled
	Search    websearch.Config
	Skills    skill.Set
	Agents    []Agent      // that the task tool can start, with Spawn
	Languages *lsp.Servers // nil: none, and no tool lsp
}

// Results is how the results of calls are limited, saved and redacted.
type Results struct {
	Outputs *files.Dir // where truncated outputs are saved in full; nil: nowhere
	Limits  outputs.Limits
	Redact  *redact.Redactor // redacts secrets in results and records; nil: none are known
}

// now returns the environment of a call, without the rights that its job has lost.
func (env *Env) now() *Env {
	if !env.Untrusted.Is() {
		return env
	}
	left := *env
	left.Profile = env.Untrusted.Limited(env.Profile)
	return &left
}

// NewCustom returns a custom tool, or an error if its description is invalid.
func NewCustom(c command.Custom) (Tool, error) {
	t, err := command.NewCustom(c)
	if err != nil {
		return nil, err
	}
	return tool.In(t, (*Env).commands), nil
}
