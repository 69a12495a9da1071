package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/tools/arguments"
	"github.com/millhand/millhand/tools/tool"
)

// Custom describes a tool that is a command. It reads its arguments as JSON
// from standard input and writes its result to standard output. Its permission
// is its name, with the subject "*".
type Custom struct {
	Name        string
	Description string
	Command     []string        // program and arguments; run in the workspace
	Schema      json.RawMessage // JSON Schema of the arguments, of type object; empty: no arguments
	Timeout     time.Duration   // 0: two minutes
	ReadOnly    bool            // has no side effects
	Writes      bool            // may write the workspace although the session's commands may not
}

// customForm matches valid names of custom tools, which all providers accept.
var customForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
})

// custom is the Tool of a [Custom].
type custom struct {
	Custom
	spec   tool.Spec
	schema *arguments.Foreign
}

// NewCustom returns a custom tool, or an error if its description is invalid.
func NewCustom(c Custom) (tool.Tool[Env], error) {
	switch {
	case !customForm().MatchString(c.Name):
		return nil, fmt.Errorf("invalid tool name %q: must be at most 64 letters, digits, hyphens and underscores", c.Name)
	case strings.TrimSpace(c.Description) == "":
		return nil, fmt.Errorf("tool %s has no description, so a model can't know when to use it", c.Name)
	case len(c.Command) == 0 || c.Command[0] == "":
		return nil, fmt.Errorf("tool %s has no command", c.Name)
	}
	t := custom{Custom: c, spec: tool.Spec{Name: c.Name, Description: c.Description, ReadOnly: c.ReadOnly, Tail: true}}
	var err error
	if t.schema, err = arguments.Read(c.Schema); err != nil {
		return nil, fmt.Errorf("invalid schema of tool %s: %w", c.Name, err)
	}
	t.spec.Schema = t.schema.Offered
	return t, nil
}

// Spec implements Tool.
func (t custom) Spec() tool.Spec { return t.spec }

// Prepare implements Tool.
func (t custom) Prepare(env Env, input json.RawMessage) (tool.Pending, error) {
	given, err := t.schema.Decode(input, false)
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: string(given), Needs: []permission.Request{permission.Need(t.Name, "*")}, Do: func(ctx context.Context) (tool.Result, error) {
		return t.run(ctx, env, given)
	}}, nil
}

// run runs the command and returns its result.
func (t custom) run(ctx context.Context, env Env, input []byte) (tool.Result, error) {
	timeout := cmp.Or(t.Timeout, defaultTimeout)
	if env.Options.MaxTime > 0 {
		timeout = min(timeout, env.Options.MaxTime)
	}
	dir, err := files.MakeTemp(proc.Value(env.Environ, "TMPDIR"), "millhand-tool-*")
	if err != nil {
		return tool.Result{}, fmt.Errorf("create temporary directory for tool input: %w", err)
	}
	defer os.RemoveAll(dir.Path())
	defer dir.Close()
	stdin, stderr := filepath.Join(dir.Path(), "input.json"), filepath.Join(dir.Path(), "errors.txt")
	if err := dir.WriteNew("input.json", input); err != nil {
		return tool.Result{}, fmt.Errorf("write tool input: %w", err)
	}
	out := env.Store.Capture(t.Name)
	defer out.Close()
	confine := env.Options.Confine
	if t.Writes && env.Options.Granted != nil {
		confine = env.Options.Granted
	}
	res, err := proc.Run(ctx, proc.Command{
		Args: slices.Concat([]string{"bash", "-c", `in=$1 err=$2; shift 2; exec "$@" <"$in" 2>"$err"`, "bash", stdin, stderr}, t.Command),
		Dir:  env.Workspace.Dir(), Env: env.Environ, Timeout: timeout, Output: out, Confine: confine, Disk: env.Options.Disk,
	})
	text := out.Text()
	result := tool.Result{Output: text.Text, Bytes: out.Total(), Bounded: true, Cut: text.Cut, Metadata: tool.Metadata{OutputPath: text.Path}}
	if err != nil {
		return result, err
	}
	result.Metadata.ExitCode = &res.ExitCode
	if result.Output == "" && res.ExitCode == 0 && res.Signal == 0 && !res.TimedOut {
		result.Output = "(no output)"
	}
	result.Output = strings.TrimPrefix(withNote(result.Output, res), "\n\n")
	return result, t.failure(res, timeout, readTail(dir, "errors.txt"))
}

// failure returns an error if the command failed, with the tail of its standard
// error.
func (t custom) failure(res proc.Result, timeout time.Duration, text string) error {
	var how string
	switch {
	case res.TimedOut:
		return fmt.Errorf("tool %s timed out after %s; narrow the request", t.Name, timeout)
	case res.Signal != 0:
		how = fmt.Sprintf("was killed by signal (%s)", res.Signal)
	case res.ExitCode != 0:
		how = fmt.Sprintf("failed with exit code %d", res.ExitCode)
	default:
		return nil
	}
	if text != "" {
		return fmt.Errorf("tool %s %s: %s", t.Name, how, text)
	}
	return errors.New("tool " + t.Name + " " + how)
}

// readTail returns the last 2 KiB that a terminal would show of a file, which a command may
// have replaced.
func readTail(dir *files.Dir, name string) string {
	f, err := dir.Read(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 256 << 10
	if st, err := f.Stat(); err == nil && st.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return ""
		}
	}
	tail := proc.NewTail(2 << 10)
	shown := terminal.NewWriter(tail)
	io.Copy(shown, f) //nolint:errcheck // an unreadable file is not reported
	shown.Flush()     //nolint:errcheck // likewise
	return strings.TrimSpace(strings.ToValidUTF8(string(tail.Bytes()), "\uFFFD"))
}
