package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/internal/textcut"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// asked is the task's prompt as the model gets it: the output of its commands in
// their places, the files that it names behind it. Each is a call of the
// session, under its profile. What the prompt names has to be had: if a call is
// denied or fails, the job ends here, before the model is paid for a task that
// lacks a part.
func (w *work) asked(ctx context.Context, main *open) (string, *stop) {
	var text, behind strings.Builder
	at, seen := 0, map[string]bool{}
	for n, m := range w.job.spec.Mentions {
		text.WriteString(w.job.spec.Prompt[at:m.Start])
		at = m.End
		whole := w.job.spec.Prompt[m.Start:m.End]
		if m.Command == "" && seen[whole] {
			text.WriteString(whole)
			continue
		}
		seen[whole] = true
		f, end := w.fetch(ctx, main, fmt.Sprintf("prompt_%d", n+1), m)
		if end != nil {
			end.detail = fmt.Sprintf("%s in the prompt: %s", textcut.OneLine(whole), end.detail)
			return "", end
		}
		if f.inPlace {
			text.WriteString(f.text)
			continue
		}
		text.WriteString(whole)
		if f.text != "" {
			behind.WriteString("\n\n" + f.text)
		}
	}
	return text.String() + w.job.spec.Prompt[at:] + behind.String(), nil
}

// fetched is what a mention came to.
type fetched struct {
	text    string // "" if the mention is nothing but words
	inPlace bool   // the text takes the mention's place
}

// fetch gets what a mention names. A file goes before an agent of its name.
func (w *work) fetch(ctx context.Context, main *open, id string, m tasks.Mention) (fetched, *stop) {
	if m.Command != "" {
		out, end := w.call(ctx, main, id, "bash", map[string]any{"command": m.Command})
		return fetched{output(m.Command, out), true}, end
	}
	if input := w.named(m); input != nil {
		out, end := w.call(ctx, main, id, "read", input)
		return fetched{fmt.Sprintf("Contents of @%s from the prompt, as returned by the read tool:\n%s", textcut.OneLine(shown(m)), out), false}, end
	}
	if slices.ContainsFunc(agents(w.job.plan), func(a tools.Agent) bool { return a.Name == m.Name }) {
		if d := main.spec.task.Profile.Decide(permission.Need("task", m.Name)); !d.Allowed() {
			return fetched{}, denied(d.Denial())
		}
		return fetched{fmt.Sprintf("@%s in the prompt is an agent: delegate its part of the work with the task tool, subagent_type %q.", m.Name, m.Name), false}, nil
	}
	if looksLikeFile(m.Name) {
		w.job.warn(fmt.Sprintf("@%s in the prompt: file not found in the workspace; left unchanged", textcut.OneLine(m.Name)))
	}
	return fetched{}, nil
}

// call carries out a call of the prompt's.
func (w *work) call(ctx context.Context, main *open, id, tool string, input map[string]any) (string, *stop) {
	args, err := json.Marshal(input)
	if err != nil {
		return "", &stop{code: event.CodeInternal, detail: err.Error()}
	}
	out := main.Fetch(ctx, tools.Call{ID: id, Name: tool, Input: string(args)})
	switch {
	case ctx.Err() != nil:
		return "", stopped(ctx)
	case out.Status == tools.Denied:
		return "", denied(out.Error)
	case out.Status != tools.Completed:
		return "", &stop{code: event.CodeFailed, detail: out.Error}
	}
	return out.Output, nil
}

func denied(why string) *stop {
	return &stop{code: event.CodeDenied, detail: why}
}

// named is the input of the call that reads what a mention names; nil if there
// is no such file or directory. One that can only be meant as a file is read
// whether or not it is there.
func (w *work) named(m tasks.Mention) map[string]any {
	if m.Ranged != "" && w.exists(m.Ranged) {
		return map[string]any{"filePath": m.Ranged}
	}
	path := m.Name
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = strings.TrimSuffix(w.job.opts.Getenv("HOME"), "/") + "/" + rest
	}
	if !m.Explicit && !w.exists(path) {
		return nil
	}
	input := map[string]any{"filePath": path}
	if m.First > 0 {
		input["offset"] = m.First
	}
	if m.Last > 0 {
		input["limit"] = m.Last - m.First + 1
	}
	return input
}

// exists reports whether there is a file or a directory.
func (w *work) exists(name string) bool {
	p, err := w.site.space.Resolve(name)
	if err != nil {
		return false
	}
	_, err = w.site.space.Stat(p)
	return err == nil
}

// shown is a mention's name as it was written.
func shown(m tasks.Mention) string {
	if m.Ranged != "" {
		return m.Ranged
	}
	return m.Name
}

// fileForm is a name in a directory that ends in the way of files.
var fileForm = regexp.MustCompile(`/[^/@]*\.[A-Za-z][A-Za-z0-9]{0,7}$`)

// looksLikeFile tells what was probably meant as a file from package scopes,
// people and the like.
func looksLikeFile(name string) bool { return fileForm.MatchString(name) }

// shortOutput is how long a command's output may be to stand in a sentence.
const shortOutput = 200

// output writes what a command in a prompt said: a short line as it is, and
// anything else in a frame that it can't close.
func output(command, said string) string {
	said = strings.TrimRight(said, "\r\n")
	if len(said) <= shortOutput && !strings.ContainsAny(said, "\r\n") {
		return said
	}
	said = outputFrame.ReplaceAllString(said, `<\$1`)
	return fmt.Sprintf("\n<output command=%q>\n%s\n</output>\n", command, said)
}

var outputFrame = regexp.MustCompile(`(?i)<(\s*/\s*output)`)

// endedBy is the end of a session whose job was stopped before it began.
func endedBy(s *stop) session.End {
	end := session.End{Kind: session.GaveUp, Reason: s.detail}
	switch s.outcome() {
	case event.Failed:
	case event.Policy:
		end.Kind = session.Refused
	default:
		end.Kind = session.Cancelled
	}
	return end
}
