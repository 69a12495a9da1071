package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/shell"
	"github.com/millhand/millhand/tools/shell/effect"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed bash.md
var description string

// defaultTimeout is the default timeout of a command.
const defaultTimeout = 2 * time.Minute

// maxInvalid is the maximum length of why a command is invalid, in bytes.
const maxInvalid = 250

type input struct {
	Command     string  `json:"command" jsonschema:"bash command to run"`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"timeout in milliseconds (default 120000)"`
	Workdir     string  `json:"workdir,omitempty" jsonschema:"working directory (default: the workspace root); use it instead of cd"`
	Description string  `json:"description,omitempty" jsonschema:"what the command does, in 5 to 10 words"`
}

// Bash returns the tool bash.
func Bash() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "bash", Description: description, Tail: true}, prepareBash)
}

func prepareBash(env Env, in input) (tool.Pending, error) {
	if strings.TrimSpace(in.Command) == "" {
		return tool.Pending{}, errors.New("command is empty")
	}
	if in.Timeout < 0 {
		return tool.Pending{}, fmt.Errorf("invalid timeout %g: must be a positive number of milliseconds", in.Timeout)
	}
	if in.Workdir == "" {
		in.Workdir = "."
	}
	workdir, err := env.Spelled(in.Workdir)
	if err != nil {
		return tool.Pending{}, fmt.Errorf("workdir: %w", err)
	}
	dir, _, err := env.Locate(env.Workspace.Dir(), workdir, false)
	if err != nil {
		return tool.Pending{}, fmt.Errorf("workdir: %w", err)
	}
	title := in.Description
	if title == "" {
		title = in.Command
	}
	line := unixLines(in.Command)
	needs, err := needsOf(env, dir, line)
	if err != nil {
		return tool.Pending{}, err
	}
	p := tool.Pending{Title: title, Needs: needs, Do: func(ctx context.Context) (tool.Result, error) { return run(ctx, env, dir, in) }}
	if line != in.Command {
		in.Command = line
		p.Note("the command had CRLF line endings and was run with LF")
	}
	if in.Timeout > 0 && in.Timeout < minTimeout {
		p.Warn(fmt.Sprintf("timeout is in milliseconds: %g was read as seconds, and the command ran with a timeout of %s", in.Timeout, timeoutOf(env, in.Timeout)))
	}
	return p, nil
}

// unixLines returns a command line with the line endings that bash reads. Models write CRLF
// for files of Windows, and bash would append the CR to the last word.
func unixLines(line string) string {
	return strings.TrimSuffix(strings.ReplaceAll(line, "\r\n", "\n"), "\r")
}

// Needs lists the permissions that a command line needs in the workspace's root.
func (env Env) Needs(line string) ([]permission.Request, error) {
	if strings.TrimSpace(line) == "" {
		return nil, errors.New("the command line is empty")
	}
	dir, err := env.Workspace.Resolve(".")
	if err != nil {
		return nil, err
	}
	return needsOf(env, dir, unixLines(line))
}

// needsOf lists the permissions that a command line needs: for each command
// that it can run, each file that it names, and each construct that can't be
// analyzed. A line that can't be analyzed as bash is an error, and must not be run.
func needsOf(env Env, dir workspace.Path, line string) ([]permission.Request, error) {
	if len(line) > shell.MaxLine {
		return nil, fmt.Errorf("command too long: %d bytes, maximum %d; create files with the write tool instead of here-documents, and write a long script to a file and run that", len(line), shell.MaxLine)
	}
	analysis, err := shell.Analyze(line)
	if err != nil {
		return nil, fmt.Errorf("invalid command, not run: %s; fix it, or write the script to a file with the write tool and run that", textcut.Head(err.Error(), maxInvalid, "…"))
	}
	var needs []permission.Request
	switch {
	case env.IsPrivate(dir.Abs):
		needs = append(needs, env.LocationNeeds(dir)...)
	case dir.Outside && !env.Scratch.Has(dir.Abs):
		needs = append(needs, env.External(permission.ExternalDirectory, dir))
	}
	for _, c := range analysis.Commands {
		needs = append(needs, permission.Request{Permission: "bash", Subjects: []string{c.Plain, c.Text}, Open: c.Open, Inner: c.Inner})
	}
	for _, u := range analysis.Unknown {
		needs = append(needs, unknownNeeds(u)...)
	}
	if len(analysis.Commands) == 0 && !analysis.Moves { // cd is judged by its directory, as before a command
		needs = append(needs, permission.Need("bash", line))
	}
	for _, a := range analysis.Accesses {
		for _, n := range accessNeeds(env, dir, a) {
			n.For = a.Why
			needs = append(needs, n)
		}
	}
	return needs, nil
}

// unknownNeeds lists the permissions for a part that is known only at run time.
// If it writes a file, that may be one that the edit rules deny, too.
func unknownNeeds(u shell.Unknown) []permission.Request {
	why := unknownReason(u.Reason)
	needs := []permission.Request{{Permission: "bash", Subjects: []string{u.Text}, Unknown: why}}
	if u.Write {
		needs = append(needs, permission.Request{Permission: "edit", Subjects: []string{u.Text}, Unknown: why})
	}
	return needs
}

// unknownReason returns why a part can't be analyzed.
func unknownReason(r effect.Reason) string {
	switch r {
	case effect.ReasonPath:
		return "the file path is known only at run time"
	case effect.ReasonCommand:
		return "the command name is known only at run time"
	case effect.ReasonScript:
		return "the code it runs is known only at run time"
	case effect.ReasonInput:
		return "the shell's input is known only at run time"
	case effect.ReasonFile:
		return "it runs code from a file that is not analyzed"
	case effect.ReasonOption:
		return "an option is unknown or can run another program"
	case effect.ReasonEnvironment:
		return "the variable affects which commands run"
	case effect.ReasonAlias:
		return "it may be an alias for any command"
	case effect.ReasonSetting:
		return "the setting affects which commands run"
	case effect.ReasonArithmetic:
		return "its value may contain a command that arithmetic evaluation runs"
	case effect.ReasonNetwork:
		return "it opens a network connection"
	}
	return string(r)
}

// accessNeeds lists the permissions for a command's access to a file.
func accessNeeds(env Env, dir workspace.Path, a shell.Access) []permission.Request {
	from, known := expandHome(env, a.Dir)
	name, ok := expandHome(env, a.Path)
	if !known || !ok {
		return homeNeeds(a)
	}
	if !path.IsAbs(from) {
		from = dir.Abs + "/" + from // not path.Join, which would resolve "symlink/.." lexically
	}
	p, private, err := env.Locate(from, name, a.Write)
	switch {
	case err != nil:
		return []permission.Request{{Permission: "bash", Subjects: []string{a.Path}, Unknown: fmt.Sprintf("path can't be resolved (%v)", err)}}
	case private && a.Write:
		return access.WithDirNames([]permission.Request{permission.Need("edit", p.Abs)})
	case private:
		return access.WithDirNames([]permission.Request{permission.Need("read", p.Abs)})
	case a.Write:
		return access.WithDirNames(env.NeedsOf("edit", p, access.ToWrite))
	case p.Outside && env.IsSavedOutput(p):
		return nil
	case p.Outside && !env.OfSkill(p):
		return []permission.Request{env.External(permission.ExternalRead, p)}
	}
	return access.WithDirNames(env.NeedsOf("read", p, access.ToRead))
}

// expandHome replaces a leading "~" with the home directory. It returns false
// if the shell's home directory is unknown.
func expandHome(env Env, name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "~")
	if !ok {
		return name, true
	}
	home := env.Home
	return home + rest, home != "" && (rest == "" || rest[0] == '/')
}

// homeNeeds lists the permissions for a file in an unknown home directory:
// another user's, or the user's own if HOME is not set. It counts as outside.
func homeNeeds(a shell.Access) []permission.Request {
	name := a.Path
	if !strings.HasPrefix(name, "~") {
		name = a.Dir + "/" + name
	}
	if a.Write {
		return []permission.Request{permission.Need(permission.ExternalDirectory, name), permission.Need("edit", name)}
	}
	return []permission.Request{permission.Need(permission.ExternalRead, name)}
}

// maxTimeout is the longest timeout that a model can set.
const maxTimeout = 24 * time.Hour

// minTimeout is the shortest timeout in milliseconds. A smaller number is one of seconds:
// other agents' tools have this unit, and no command is meant to end within 30 ms.
const minTimeout = 1000

// timeoutOf returns the timeout of a command: the model's, within the
// manifest's limit.
func timeoutOf(env Env, given float64) time.Duration {
	t := defaultTimeout
	switch {
	case given >= minTimeout:
		t = time.Duration(min(given, float64(maxTimeout.Milliseconds())) * float64(time.Millisecond))
	case given > 0:
		t = time.Duration(given * float64(time.Second))
	}
	if env.Options.MaxTime > 0 {
		t = min(t, env.Options.MaxTime)
	}
	return t
}

func run(ctx context.Context, env Env, dir workspace.Path, in input) (tool.Result, error) {
	if st, err := env.Workspace.Stat(dir); err != nil || !st.IsDir() {
		return tool.Result{}, fmt.Errorf("workdir: directory not found: %s", dir)
	}
	timeout := timeoutOf(env, in.Timeout)
	out := env.Store.Capture("bash")
	defer out.Close()
	res, err := proc.Run(ctx, proc.Command{
		Args:    []string{"bash", "-c", in.Command},
		Dir:     dir.Abs,
		Env:     env.Hooks.Environ(ctx, env.Environ, dir.Abs),
		Timeout: timeout,
		Output:  out,
		Confine: env.Options.Confine,
		Disk:    env.Options.Disk,
	})
	text := out.Text()
	result := tool.Result{
		Output: text.Text, Bytes: out.Total(), Bounded: true, Cut: text.Cut,
		Metadata: tool.Metadata{OutputPath: text.Path},
	}
	if err != nil {
		return result, err
	}
	result.Metadata.ExitCode = &res.ExitCode
	if result.Output == "" {
		result.Output = "(no output)"
	}
	switch {
	case res.TimedOut:
		result.Output = withNote(result.Output, res)
		return result, fmt.Errorf("command timed out after %s and its process group was killed; the output so far follows; set a larger timeout if the command needs more time", timeout)
	case res.Signal != 0:
		result.Output += fmt.Sprintf("\n\n(killed by signal: %s)", res.Signal)
	case res.ExitCode != 0:
		result.Output += fmt.Sprintf("\n\n(exit code %d)", res.ExitCode)
	}
	result.Output = withNote(result.Output, res)
	return result, nil
}

// withNote appends the sandbox's note about a command to its output.
func withNote(output string, res proc.Result) string {
	if res.Note == "" {
		return output
	}
	return output + "\n\n" + res.Note
}
