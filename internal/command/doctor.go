package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// The statuses of a check.
const (
	checkOK      = "ok"
	checkFixed   = "fixed"   // ok after --fix
	checkWarning = "warning" // works with restrictions
	checkMissing = "missing" // does not work
)

// check is the result of one check of the doctor.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Found  string `json:"found"`
	Fix    string `json:"fix,omitempty"`

	exit   event.Exit             // of a run that fails for this reason; 0 if it doesn't
	repair func() (string, error) // fixes it and returns what was done; nil if only the user can
}

// examination is what `millhand doctor --json` prints.
type examination struct {
	Version  string          `json:"version"`
	Platform string          `json:"platform"`
	Kernel   string          `json:"kernel"`
	UID      int             `json:"uid"`
	Sandbox  sandboxDocument `json:"sandbox"`
	Checks   []check         `json:"checks"`
	ExitCode event.Exit      `json:"exit_code"`
}

// sandboxDocument describes the sandbox level of commands.
type sandboxDocument struct {
	Mode     string `json:"mode"`
	Level    string `json:"level"` // A, B, external or none
	FS       bool   `json:"fs"`
	Net      bool   `json:"net"`
	PID      bool   `json:"pid"`
	Landlock int    `json:"landlock"`
}

type doctorOptions struct {
	mode     string // of the sandbox
	manifest string // whose extensions are checked; "" for none
	fix      bool
	json     bool
}

func doctorCommand(w World) *cli.Command {
	o := &doctorOptions{}
	return &cli.Command{
		Name: "doctor", Usage: "Check what works on this machine, and suggest fixes",
		UsageText: "millhand doctor\nmillhand doctor --fix\nmillhand doctor --manifest millhand.yaml\nmillhand doctor --sandbox require --json",
		Flags: []cli.Flag{
			sandboxFlag(&o.mode, ""),
			&cli.StringFlag{Name: "manifest", Destination: &o.manifest, Usage: "Also check the programs of the extensions in `FILE`"},
			&cli.BoolFlag{Name: "fix", Destination: &o.fix, Usage: "Remove what killed runs left, and make millhand's own directories writable"},
			jsonFlag(&o.json, "Print one JSON document"),
		},
		Action: act(o.parse, func(ctx context.Context) error { return runDoctor(ctx, w, *o) }),
	}
}

func (o *doctorOptions) parse(args []string) error { return noArguments("doctor", args) }

func runDoctor(ctx context.Context, w World, o doctorOptions) error {
	var extensions []check
	if o.manifest != "" {
		plan, err := loadPlan(ctx, w, planOptions{manifests: []string{o.manifest}})
		if err != nil {
			return err
		}
		extensions = append(checkExtensions(w, plan), checkLogins(models.New(plan, w.Getenv, w.Now, w.Proxy, pricetable.Saved(w)).Logins())...)
	}
	examine := func() (*examination, error) { return examine(ctx, w, sandbox.Mode(o.mode), extensions) }
	e, err := examine()
	if err == nil && o.fix {
		e, err = e.fix(examine)
	}
	if err != nil {
		return err
	}
	if o.json {
		err = writeJSON(w.Out, e)
	} else {
		err = e.print(w.Out)
	}
	if err != nil {
		return fault.New(event.ExitInternal, "print the result: %w", err)
	}
	return fault.Silent(e.ExitCode)
}

// examine runs all checks, and adds more. It runs git and bash to get their versions, and uses
// no network.
func examine(ctx context.Context, w World, mode sandbox.Mode, more []check) (*examination, error) {
	if err := mode.Check(); err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	tmp := w.Getenv("TMPDIR")
	if tmp == "" {
		tmp = os.TempDir()
	}
	e := &examination{Version: version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, UID: os.Geteuid()}
	private := temporaryFiles(w, tmp)
	if private.exit == event.ExitOK {
		e.confinement(mode, sandbox.Probe(ctx, tmp))
	} else {
		e.Sandbox = sandboxDocument{Mode: string(mode), Level: string(sandbox.None)}
		e.Checks = []check{{Name: "sandbox", Status: checkMissing, Found: "not checked: this requires a directory for temporary files", exit: event.ExitFailed}}
	}
	e.Checks = append(e.Checks, programs(ctx, w)...)
	e.Checks = append(e.Checks, keys(w))
	e.Checks = append(e.Checks, checkLogins(models.CloudLogins(w.Getenv))...)
	e.Checks = append(e.Checks, endpoints(w), pricesAge(w), private)
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
func (e *examination) confinement(mode sandbox.Mode, found sandbox.Found) {
	level, refused := sandbox.Choose(mode, true, found)
	if refused != nil {
		level = found.Best
	}
	state := level.State()
	e.Kernel = found.Kernel
	e.Sandbox = sandboxDocument{Mode: string(mode), Level: state.Level, FS: state.FS, Net: state.Net, PID: state.PID, Landlock: found.Landlock}
	e.Checks = append(e.Checks, checkSandbox(mode, level, found, refused))
	for _, f := range sandbox.Features(found) {
		e.Checks = append(e.Checks, checkFeature(f))
	}
}

// checkSandbox reports the sandbox level of commands.
func checkSandbox(mode sandbox.Mode, level sandbox.Level, found sandbox.Found, refused error) check {
	c := check{Name: "sandbox", Status: checkOK}
	switch {
	case refused != nil:
		c.Status, c.exit = checkMissing, event.ExitPolicy
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
		c.Status, c.Found = checkWarning, describeLevel(level)
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
func checkFeature(f sandbox.Feature) check {
	c := check{Name: f.Name, Status: checkOK, Found: f.What}
	if !f.Works {
		c.Status, c.Fix = checkWarning, f.Fix
	}
	return c
}

// programs checks the programs that millhand or its agents run.
func programs(ctx context.Context, w World) []check {
	var list []check
	for _, p := range []struct {
		name, program, without string
		exit                   event.Exit
	}{
		{"bash", "bash", "profiles with bash, setup and verify require it", event.ExitFailed},
		{"git", "git", "without it worktrees are created more slowly, file: remotes are not supported, and agents can't inspect the history", 0},
	} {
		path, err := proc.Look(p.program, []string{"PATH=" + w.Getenv("PATH")})
		if err != nil {
			c := check{Name: p.name, Status: checkWarning, Found: "not on PATH", Fix: install(w, p.program) + ": " + p.without, exit: p.exit}
			if p.exit != 0 {
				c.Status = checkMissing
			}
			list = append(list, c)
			continue
		}
		version, err := programVersion(ctx, w, path)
		c := check{Name: p.name, Status: checkOK, Found: path + ", " + version}
		switch {
		case err != nil:
			c.Status, c.Found, c.Fix = checkWarning, fmt.Sprintf("%s --version: %v", path, err), "re"+install(w, p.program)
		case p.name == "git" && oldGit(version):
			c.Status, c.Fix = checkWarning, fmt.Sprintf("install git 2.%d or later: older versions are not tested, and some ignore settings that restrict them", minGit)
		}
		list = append(list, c)
	}
	return list
}

// install returns how to install a program, with the command of the package manager.
func install(w World, program string) string {
	for _, command := range []string{"apt-get install", "dnf install", "apk add", "pacman -S", "zypper install", "brew install"} {
		manager, _, _ := strings.Cut(command, " ")
		if _, err := proc.Look(manager, []string{"PATH=" + w.Getenv("PATH")}); err != nil {
			continue
		}
		if os.Geteuid() != 0 && manager != "brew" {
			command = "sudo " + command
		}
		return fmt.Sprintf("install %s (%s %s)", program, command, program)
	}
	return "install " + program
}

// minGit is the minor version of git 2 that Debian 11 has, the oldest that is
// supported by its distribution.
const minGit = 30

// oldGit reports whether git prints a version before 2.minGit.
func oldGit(version string) bool {
	var major, minor int
	if n, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor); n < 2 || err != nil {
		return false
	}
	return major < 2 || major == 2 && minor < minGit
}

// versionTimeout limits the time of a program to print its version.
const versionTimeout = 10 * time.Second

// programVersion returns the first line that a program prints for --version.
func programVersion(ctx context.Context, w World, program string) (string, error) {
	output := proc.NewTail(4 << 10)
	res, err := proc.Run(ctx, proc.Command{Args: []string{program, "--version"}, Dir: "/", Env: proc.ChildEnv(w.Getenv, nil), Timeout: versionTimeout, Output: output})
	if err != nil {
		return "", err
	}
	if res.ExitCode != 0 {
		return "", fmt.Errorf("exit code %d", res.ExitCode)
	}
	first, _, _ := bytes.Cut(output.Bytes(), []byte("\n"))
	return printable.Line(string(first), 80), nil
}

// keys reports the environment variables that contain keys of providers and
// forges, but never their values.
func keys(w World) check {
	names := []string{"MILLHAND_GIT_TOKEN", "MILLHAND_SSH_KEY", "MILLHAND_GITHUB_APP_KEY", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITEA_TOKEN"}
	var set []string
	model := false
	for _, name := range kinds.Names() {
		kind, _ := provider.Lookup(name)
		for _, variable := range kind.KeyEnv {
			if strings.TrimSpace(w.Getenv(variable)) != "" {
				set, model = append(set, variable), true
			}
		}
	}
	for _, variable := range names {
		if strings.TrimSpace(w.Getenv(variable)) == "" {
			continue
		}
		if variable == credentials.TokenVariable {
			variable += " (" + credentials.TokenServers(w.Getenv) + ")"
		}
		set = append(set, variable)
	}
	slices.Sort(set)
	set = slices.Compact(set)
	c := check{Name: "keys", Status: checkOK, Found: "set: " + strings.Join(set, ", ")}
	if len(set) == 0 {
		c.Found = "not set"
	}
	if !model && len(models.CloudLogins(w.Getenv)) == 0 {
		c.Status, c.Fix = checkWarning, "set the key of your model's provider, for example: export OPENAI_API_KEY=KEY, or ANTHROPIC_API_KEY; local servers and scripted models need no key"
	}
	return c
}

// checkLogins reports the logins to clouds. They are not tried, as this sends requests.
func checkLogins(all []models.Login) []check {
	var list []check
	for _, l := range all {
		c := check{Name: "login of " + l.Model, Status: checkOK, Found: l.Source + "; not tried"}
		if l.Err != nil {
			c.Status, c.Found, c.Fix = checkWarning, l.Err.Error(), "see \"Logins of clouds\" in docs/models.md"
		}
		list = append(list, c)
	}
	return list
}

// endpoints reports the environment variables that set other endpoints of providers, and
// those of the providers' own tools that have no effect here.
func endpoints(w World) check {
	var set, unread []string
	for _, name := range kinds.Names() {
		kind, _ := provider.Lookup(name)
		for _, variable := range kind.BaseEnv {
			if value := strings.TrimSpace(w.Getenv(variable)); value != "" {
				set = append(set, variable+" ("+cmp.Or(models.EndpointHost(value), "invalid")+")")
				break // the first counts
			}
		}
		for _, variable := range kind.Unread {
			if strings.TrimSpace(w.Getenv(variable)) != "" {
				unread = append(unread, variable)
			}
		}
	}
	slices.Sort(set)
	c := check{Name: "endpoints", Status: checkOK, Found: "set: " + strings.Join(slices.Compact(set), ", ")}
	if len(set) == 0 {
		c.Found = "the providers' own"
	}
	if len(unread) > 0 {
		c.Status = checkWarning
		c.Found += "; not read: " + strings.Join(unread, ", ")
		c.Fix = "set the endpoint, its key and headers under providers: in the manifest"
		if slices.ContainsFunc(unread, func(name string) bool { return strings.HasPrefix(name, "CLAUDE_CODE_USE_") }) {
			c.Fix = "write model: bedrock/MODEL or vertex/MODEL; millhand init converts the variables of Claude Code"
		}
	}
	return c
}

// buildCaches reports which caches of the user jobs can read, and how they see them.
func buildCaches(ctx context.Context, w World, tmp string, level sandbox.Level) check {
	var found []string
	for _, e := range ecosystem.All() {
		if slices.ContainsFunc(e.Caches(), func(c ecosystem.Cache) bool {
			st, err := os.Stat(c.Dir(w.Getenv))
			return err == nil && st.IsDir()
		}) {
			found = append(found, e.Name)
		}
	}
	c := check{Name: "build caches", Status: checkOK, Found: "read-only for jobs, with a private layer for what they add: " + strings.Join(found, ", ")}
	switch {
	case len(found) == 0:
		c.Found = "none of this user's; those of jobs start empty"
	case level == sandbox.Full:
		if err := sandbox.TryStore(ctx, tmp); err != nil {
			c.Status = checkWarning
			c.Found = fmt.Sprintf("read-only for jobs, as symlinks: %s (%v)", strings.Join(found, ", "), err)
			c.Fix = "set TMPDIR to a directory on a file system that supports upper layers of overlays, such as ext4, xfs, or tmpfs since Linux 6.6"
		}
	case level == sandbox.Partial:
		c.Found = "read-only for jobs, as symlinks: " + strings.Join(found, ", ")
	}
	return c
}

// print writes the result as text.
func (e *examination) print(out io.Writer) error {
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
func (e *examination) verdict() string {
	switch e.ExitCode {
	case event.ExitOK:
		return "Every profile can be used here."
	case event.ExitPolicy:
		return "Profiles with bash are refused here; others can be used."
	default:
		return "Runs can't work here until the missing items are fixed."
	}
}

// pricesAge checks how old the prices are.
func pricesAge(w World) check {
	table := pricetable.Saved(w)
	c := check{Name: "prices", Status: checkOK, Found: fmt.Sprintf("%s, the newest of %s", figures.Count(len(table.Names()), "model"), table.Latest())}
	if table.Age(w.Now()) > prices.MaxAge {
		c.Status, c.Fix = checkWarning, "run millhand models --refresh: newer models have no price, and limits of cost use old ones"
	}
	return c
}
