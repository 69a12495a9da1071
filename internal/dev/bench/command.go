//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
)

// commandRounds is the number of commands of each kind in one run.
const commandRounds = 40

// commandPause is the time between two commands, in which a model responds: millhand starts the process for
// the next command.
const commandPause = 20 * time.Millisecond

// commandGoal is the maximum overhead of a sandbox per command, in milliseconds.
const commandGoal = 5

// commands measures the cost of one command in a sandbox of each level that the machine
// supports, against the same command without: `bash -c true`, alternately, started the
// same way as by millhand's bash tool.
func (b *bench) commands(ctx context.Context, runs int) ([]row, error) {
	kinds, found := []*kind{{name: "plain"}}, sandbox.Probe(ctx, b.dir)
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Partial} {
		if level == sandbox.Full && found.Best != sandbox.Full || found.Landlock == 0 {
			continue
		}
		k, done, err := b.kind(level)
		if err != nil {
			return nil, err
		}
		defer done()
		kinds = append(kinds, k)
	}
	for i := range (runs + 1) * commandRounds {
		for _, k := range kinds {
			time.Sleep(commandPause)
			before := cpuTime(unix.RUSAGE_CHILDREN)
			took, err := k.command(ctx, b.dir)
			if err != nil {
				return nil, fmt.Errorf("run a command at level %s: %w", k.name, err)
			}
			if i >= commandRounds {
				k.took = append(k.took, millis(took))
				k.cpu = append(k.cpu, millis(cpuTime(unix.RUSAGE_CHILDREN)-before))
			}
		}
	}
	var rows []row
	for _, k := range kinds[1:] {
		more := row{figure: "`bash -c true` in the sandbox, level " + k.name + ": more than plain", unit: "ms"}.atMost(commandGoal, "7 to 9 ms")
		for i := range k.took {
			more.millhand = append(more.millhand, k.took[i]-kinds[0].took[i])
		}
		rows = append(rows, row{figure: "`bash -c true` in the sandbox, level " + k.name + ", beside plain: wall", unit: "ms", millhand: k.took, floor: kinds[0].took}, more,
			row{figure: "`bash -c true` in the sandbox, level " + k.name + ", beside plain: CPU", unit: "ms", millhand: k.cpu, floor: kinds[0].cpu})
	}
	return rows, nil
}

// kind is a way to start commands.
type kind struct {
	name    string
	confine proc.Confine
	took    series
	cpu     series // user and system time of the children
}

// kind creates the same sandbox as that of a job; done closes it.
func (b *bench) kind(level sandbox.Level) (k *kind, done func(), err error) {
	spec := sandbox.Spec{Limits: sandbox.Limits{Pids: 4096, FileBytes: 8e9}, Program: b.millhand} // the supervisor is millhand, not this program
	base := filepath.Join(b.dir, "confined-"+string(level))
	for _, p := range []struct {
		name string
		at   *string
	}{{"work", &spec.Workspace}, {"home", &spec.Home}, {"tmp", &spec.TmpDir}} {
		*p.at = filepath.Join(base, p.name)
		if err := os.MkdirAll(*p.at, 0o755); err != nil {
			return nil, nil, err
		}
	}
	box, err := sandbox.New(spec, level)
	if err != nil {
		return nil, nil, err
	}
	confine := func(args, env []string, dir string) (*proc.Confined, error) {
		c, err := box.Confine(args, env, dir)
		if err != nil {
			return nil, err
		}
		ended := c.Ended
		c.Ended = func() (proc.Result, error) {
			defer box.StartAhead() // as in a session
			return ended()
		}
		return c, nil
	}
	return &kind{name: string(level), confine: confine}, func() {
		box.Close() //nolint:errcheck // it was only measured
	}, nil
}

func (k *kind) command(ctx context.Context, dir string) (time.Duration, error) {
	if k.confine != nil {
		dir = filepath.Join(dir, "confined-"+k.name, "work")
	}
	began := time.Now()
	res, err := proc.Run(ctx, proc.Command{
		Args: []string{"bash", "-c", "true"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute,
		Output: proc.NewTail(1 << 10), Confine: k.confine,
	})
	took := time.Since(began)
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("exit code %d", res.ExitCode)
	}
	return took, err
}
