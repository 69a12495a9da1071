package extension

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/jshost"
	"github.com/millhand/millhand/internal/permission"
)

// maxWaiting is how many events wait for plugins; further ones are dropped.
const maxWaiting = 256

// listeners tell the plugins of a host what happens. Plugins are told in the background, one event
// after the other.
type listeners struct {
	host  *jshost.Host
	limit time.Duration // of what drain waits

	mu      sync.Mutex
	waiting []pluginEvent
	running chan struct{} // closed when no event waits any more; nil if nothing runs
	cancel  context.CancelFunc
}

// pluginEvent is an event in OpenCode's form.
type pluginEvent struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
}

// tell adds an event.
func (l *listeners) tell(ctx context.Context, e pluginEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == maxWaiting {
		return
	}
	l.waiting = append(l.waiting, e)
	if l.running == nil {
		l.running = make(chan struct{})
		ctx, l.cancel = context.WithCancel(ctx)
		go l.run(ctx, l.running)
	}
}

// run informs the plugins of all events that wait.
func (l *listeners) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.running = nil
			l.cancel()
			l.mu.Unlock()
			return
		}
		next := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		l.host.Tell(ctx, next) //nolint:errcheck // what plugins do with events has no effect
	}
}

// drain waits until the plugins have been told, or drops what is left after the limit.
func (l *listeners) drain() {
	l.mu.Lock()
	done := l.running
	l.mu.Unlock()
	if done == nil {
		return
	}
	timer := time.NewTimer(l.limit)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	l.mu.Lock()
	l.waiting = nil
	l.cancel()
	l.mu.Unlock()
	<-done
}

// ofPlugins returns the events of plugins that an event of a session is.
func ofPlugins(e event.Event) []pluginEvent {
	if made, ok := pluginEvents.Find(&e); ok {
		return made(e)
	}
	return nil
}

var pluginEvents = event.Walk[func(event.Event) []pluginEvent]{
	On: map[event.Type]func(event.Event) []pluginEvent{
		event.SessionStarted: func(e event.Event) []pluginEvent {
			return []pluginEvent{{"session.created", map[string]any{"sessionID": e.Session, "info": map[string]any{"id": e.Session}}}}
		},
		event.TurnEnded: func(e event.Event) []pluginEvent {
			return []pluginEvent{{"message.updated", map[string]any{"sessionID": e.Session, "info": map[string]any{"sessionID": e.Session, "role": "assistant"}}}}
		},
		event.CallUpdated: ofCall,
	},
	Ignores: []event.Type{
		event.RunStarted, event.JobStarted, event.PhaseStarted, event.PhaseEnded, event.CommandStarted, event.CommandEnded, event.BaselineEnded,
		event.ScriptEnded, event.AttemptStarted, event.ReviewEnded, event.ModelEscalated, event.TurnStarted, event.ModelText, event.RequestRetried, event.Pruned, event.Compacted,
		event.SessionEnded, event.VerifyEnded, event.FilesLeft, event.ChangesFound, event.CommitStarted, event.Committed, event.PublishStarted,
		event.CommitPublished, event.PullRequestStarted, event.CommentStarted, event.CommentPosted, event.ForgeRequestStarted, event.ForgeRequestEnded, event.JobEnded, event.NetworkRequested,
		event.ExtensionChanged, event.RevertStarted, event.Reverted, event.WarningIssued, event.RunEnded, event.Sealed,
		event.AblationStarted, event.TrialEnded, event.AblationEnded,
		event.UntrustedRead,
	},
}

// patched matches the lines of a patch that name its files.
var patched = regexp.MustCompile(`(?m)^\*\*\* (?:Add File|Update File|Delete File|Move to): (.*?)\s*$`)

func ofCall(e event.Event) []pluginEvent {
	c := e.Call
	properties := map[string]any{"sessionID": e.Session, "tool": c.Tool, "callID": c.ID}
	switch c.Status {
	case event.CallRunning:
		return []pluginEvent{{"tool.execute.before", properties}}
	case event.CallCompleted:
	case event.CallError, event.CallDenied:
		return []pluginEvent{{"tool.execute.after", properties}}
	default:
		return nil
	}
	all := []pluginEvent{{"tool.execute.after", properties}}
	var input struct {
		FilePath string          `json:"filePath"`
		Patch    string          `json:"patchText"`
		Todos    json.RawMessage `json:"todos"`
	}
	json.Unmarshal(c.Input, &input) //nolint:errcheck // the fields stay empty
	switch {
	case c.Tool == "apply_patch":
		for _, m := range patched.FindAllStringSubmatch(input.Patch, -1) {
			all = append(all, pluginEvent{"file.edited", map[string]any{"file": m[1]}})
		}
	case permission.ForTool(c.Tool) == "edit":
		all = append(all, pluginEvent{"file.edited", map[string]any{"file": input.FilePath}})
	case c.Tool == "todowrite":
		all = append(all, pluginEvent{"todo.updated", map[string]any{"sessionID": e.Session, "todos": input.Todos}})
	}
	return all
}

// finished returns the event of a call that has ended, in the form of OpenCode's tool parts.
func finished(session, dir string, c event.Call, output string) pluginEvent {
	input := map[string]any{}
	json.Unmarshal(c.Input, &input) //nolint:errcheck // arguments that are no object are left out
	state := map[string]any{
		"status": "completed", "input": input, "title": c.Title, "output": output, "metadata": metadataOf(dir, c, input),
		"time": map[string]any{"start": c.StartedAt.UnixMilli(), "end": c.StartedAt.UnixMilli() + c.ElapsedMS},
	}
	if c.Status != event.CallCompleted {
		state["status"], state["error"] = "error", cmp.Or(c.Error, output)
		delete(state, "output")
	}
	made := map[string]any{"id": "prt_" + c.ID, "sessionID": session, "messageID": "msg_" + c.ID, "type": "tool", "callID": c.ID, "tool": c.Tool, "state": state}
	return pluginEvent{"message.part.updated", map[string]any{"sessionID": session, "part": made, "time": c.StartedAt.UnixMilli() + c.ElapsedMS}}
}

// metadataOf returns the metadata of a call in the form of OpenCode's tools, as far as it is known.
func metadataOf(dir string, c event.Call, input map[string]any) map[string]any {
	all := map[string]any{}
	absolute := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	m := c.Metadata
	if m == nil {
		m = &event.CallMetadata{}
	}
	json.Unmarshal(m.Custom, &all) //nolint:errcheck // empty without any
	file, _ := input["filePath"].(string)
	switch {
	case c.Tool == "bash" && m.ExitCode != nil:
		all["exit"] = *m.ExitCode
	case c.Tool == "edit" && m.Added != nil && m.Removed != nil:
		all["filediff"] = map[string]any{"file": absolute(file), "additions": *m.Added, "deletions": *m.Removed}
	case c.Tool == "write":
		all["filepath"] = absolute(file)
	case c.Tool == "apply_patch":
		patch, _ := input["patchText"].(string)
		files := []any{}
		for _, found := range patched.FindAllStringSubmatch(patch, -1) {
			files = append(files, map[string]any{"filePath": absolute(found[1]), "relativePath": found[1]})
		}
		all["files"] = files
	}
	return all
}

// Tell informs the plugins of an event of a session.
func (set *Set) Tell(ctx context.Context, e event.Event) {
	if set == nil || set.host == nil || set.host.listeners == nil {
		return
	}
	for _, p := range ofPlugins(e) {
		set.host.listeners.tell(ctx, p)
	}
}

// Idle informs the plugins that a session waits, or why it failed ("" if it did not).
func (set *Set) Idle(ctx context.Context, session, failure string) {
	if set == nil || set.host == nil || set.host.listeners == nil {
		return
	}
	if failure != "" {
		set.host.listeners.tell(ctx, pluginEvent{"session.error", map[string]any{"sessionID": session, "error": map[string]any{"message": failure}}})
	}
	set.host.listeners.tell(ctx, pluginEvent{"session.idle", map[string]any{"sessionID": session}})
}
