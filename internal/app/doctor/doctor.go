// Package doctor examines what runs use on this machine: the sandbox, programs, keys, logins to clouds, directories and
// the system's policy, and with a plan its extensions and logins. It reports what works, what does not and how to fix it. It
// runs no job, uses no network, tries no login, and repairs only what belongs to millhand. It starts git and bash with
// --version, and millhand itself to try the sandbox, but no other program.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// The statuses of a check.
const (
	OK      = "ok"
	Fixed   = "fixed"   // ok after --fix
	Warning = "warning" // works with restrictions
	Missing = "missing" // does not work
)

// Check is the result of one check of the doctor.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Found  string `json:"found"`
	Fix    string `json:"fix,omitempty"`

	exit   event.Exit             // of a run that fails for this reason; 0 if it doesn't
	repair func() (string, error) // fixes it and returns what was done; nil if only the user can
}

// Examination is what `millhand doctor --json` prints.
type Examination struct {
	Version  string     `json:"version"`
	Platform string     `json:"platform"`
	Kernel   string     `json:"kernel"`
	UID      int        `json:"uid"`
	Sandbox  Sandbox    `json:"sandbox"`
	Checks   []Check    `json:"checks"`
	ExitCode event.Exit `json:"exit_code"`
}

// Sandbox describes the sandbox level of commands.
type Sandbox struct {
	Mode     string `json:"mode"`
	Level    string `json:"level"` // A, B, external or none
	FS       bool   `json:"fs"`
	Net      bool   `json:"net"`
	PID      bool   `json:"pid"`
	Landlock int    `json:"landlock"`
}

// Options are what is examined besides the machine.
type Options struct {
	Mode sandbox.Mode
	Plan *tasks.Plan // whose extensions and logins are checked; nil for none
	Fix  bool        // remove what killed runs left, and make millhand's own directories writable
}

// Examine runs all checks, and with [Options.Fix] repairs what it can. It runs git and bash to get
// their versions, and uses no network.
func Examine(ctx context.Context, w world.World, o Options) (*Examination, error) {
	var extensions []Check
	if o.Plan != nil {
		extensions = append(checkExtensions(w, o.Plan), checkLogins(models.Of(w, o.Plan).Logins())...)
	}
	examine := func() (*Examination, error) { return examine(ctx, w, o.Mode, extensions) }
	e, err := examine()
	if err == nil && o.Fix {
		e, err = e.fix(examine)
	}
	return e, err
}

// examine runs all checks, and adds more.
func examine(ctx context.Context, w world.World, mode sandbox.Mode, more []Check) (*Examination, error) {
	if err := mode.Check(); err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	tmp := w.Getenv("TMPDIR")
	if tmp == "" {
		tmp = os.TempDir()
	}
	e := &Examination{Version: w.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH, UID: os.Geteuid()}
	private := temporaryFiles(w, tmp)
	if private.exit == event.ExitOK {
		e.confinement(mode, sandbox.Probe(ctx, tmp))
	} else {
		e.Sandbox = Sandbox{Mode: string(mode), Level: string(sandbox.None)}
		e.Checks = []Check{{Name: "sandbox", Status: Missing, Found: "not checked: this requires a directory for temporary files", exit: event.ExitFailed}}
	}
	e.Checks = append(e.Checks, programs(ctx, w)...)
	e.Checks = append(e.Checks, keys(w))
	e.Checks = append(e.Checks, checkLogins(models.CloudLogins(w.Getenv))...)
	e.Checks = append(e.Checks, endpoints(w), Prices(w), private)
	runs, err := filepath.Abs(filepath.Join(".millhand", "runs"))
	if err != nil {
		return nil, fault.New(event.ExitInternal, "find the current directory: %w", err)
	}
	e.Checks = append(e.Checks, directory("reports", runs, filepath.Dir(runs), "run millhand in a writable directory, or set --report-dir"))
	e.Checks = append(e.Checks, dataDirectories(w)...)
	e.Checks = append(e.Checks, buildCaches(ctx, w, tmp, sandbox.Level(e.Sandbox.Level)), checkPolicy(ctx, w))
	if private.exit == event.ExitOK {
		e.Checks = append(e.Checks, killedRuns(w, tmp))
	}
	e.Checks = append(e.Checks, more...)
	for _, c := range e.Checks {
		switch {
		case c.exit == event.ExitFailed, e.ExitCode == event.ExitFailed: // no run works
			e.ExitCode = event.ExitFailed
		case c.exit != event.ExitOK:
			e.ExitCode = c.exit
		}
	}
	return e, nil
}

// confinement adds the checks of the sandbox and of the kernel features it uses.
func (e *Examination) confinement(mode sandbox.Mode, found sandbox.Found) {
	level, refused := sandbox.Choose(mode, true, found)
	if refused != nil {
		level = found.Best
	}
	state := level.State()
	e.Kernel = found.Kernel
	e.Sandbox = Sandbox{Mode: string(mode), Level: state.Level, FS: state.FS, Net: state.Net, PID: state.PID, Landlock: found.Landlock}
	e.Checks = append(e.Checks, checkSandbox(mode, level, found, refused))
	for _, f := range sandbox.Features(found) {
		e.Checks = append(e.Checks, checkFeature(f))
	}
}

// checkSandbox reports the sandbox level of commands.
func checkSandbox(mode sandbox.Mode, level sandbox.Level, found sandbox.Found, refused error) Check {
	c := Check{Name: "sandbox", Status: OK}
	switch {
	case refused != nil:
		c.Status, c.exit = Missing, event.ExitPolicy
		c.Found = fmt.Sprintf("--sandbox %s: a profile with bash is refused; best available: %s", mode, describeLevel(found.Best))
		for _, m := range found.Missing {
			if m.Level == sandbox.Partial {
				c.Found += "; at level B: " + m.What
			}
		}
		c.Fix = "fix the failed checks below; or use a profile without bash, or run millhand in a container with --sandbox external"
		if runtime.GOOS != "linux" {
			c.Fix = "use a profile without bash; or run in a container or virtual machine with --sandbox external; or use --sandbox off"
		}
	case level == sandbox.Full:
		c.Found = describeLevel(level)
	default:
		c.Status, c.Found = Warning, describeLevel(level)
		if level == sandbox.Partial {
			for _, m := range found.Missing {
				c.Found += "; level A: " + m.What
			}
			c.Fix = "SECURITY.md lists the gaps of level B; for level A fix the failed checks below"
		}
	}
	return c
}

// describeLevel describes a sandbox level in one line.
func describeLevel(l sandbox.Level) string {
	switch l {
	case sandbox.Full:
		return "level A: namespaces, Landlock and a system call filter"
	case sandbox.Partial:
		return "level B: Landlock and a system call filter, without namespaces"
	case sandbox.Outside:
		return "external: not confined by millhand; the container around it is the boundary, as the flag says"
	case sandbox.None:
	}
	return "none: commands can do whatever this user can"
}

// checkFeature reports a feature of the kernel. A missing one is a warning: its
// consequence is reported by checkSandbox.
func checkFeature(f sandbox.Feature) Check {
	c := Check{Name: f.Name, Status: OK, Found: f.What}
	if !f.Works {
		c.Status, c.Fix = Warning, f.Fix
	}
	return c
}

// Print writes the result as text.
func (e *Examination) Print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "millhand %s, %s, kernel %s, user id %d\n\n", e.Version, e.Platform, cmp.Or(e.Kernel, "unknown"), e.UID)
	for _, c := range e.Checks {
		fmt.Fprintf(&b, "%-8s %-16s %s\n", c.Status, c.Name, printable.Line(c.Found, 1000))
		if c.Fix != "" {
			fmt.Fprintf(&b, "%-8s %-16s → %s\n", "", "", printable.Line(c.Fix, 1000))
		}
	}
	b.WriteString("\n" + e.verdict() + "\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// verdict summarizes the result in one line.
func (e *Examination) verdict() string {
	switch e.ExitCode {
	case event.ExitOK:
		return "Every profile can be used here."
	case event.ExitPolicy:
		return "Profiles with bash are refused here; others can be used."
	default:
		return "Runs can't work here until the missing items are fixed."
	}
}
