package commands

import (
	"context"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/confinement"
)

// Program is a program of the manifest that runs in a workspace.
type Program struct {
	Args    []string
	Dir     string
	Limit   time.Duration
	Box     *confinement.Confinement
	Outputs *files.Dir // of the job, for an output that is longer than an excerpt
	Redact  *redact.Redactor
	Now     func() time.Time
}

// Run runs the program. An error means that the context ended, or that the machine did not start it; one that can't be started for
// another reason has failed.
func (p Program) Run(ctx context.Context) (v Ran, failed error) {
	out := newPrinted(&outputFile{dir: p.Outputs, redact: p.Redact})
	defer func() { out.into(&v, p.Redact) }()
	began := p.Now()
	res, err := proc.Run(ctx, proc.Command{Args: p.Args, Dir: p.Dir, Env: p.Box.Env, Timeout: p.Limit, Output: out, Confine: p.Box.Confine(), Disk: p.Box.Disk()})
	v.Passed, v.ExitCode = err == nil && res.ExitCode == 0 && !res.TimedOut, res.ExitCode
	v.ElapsedMS = p.Now().Sub(began).Milliseconds()
	if v.denied = p.Redact.Held(res.Note); v.denied != "" {
		out.note(v.denied)
	}
	switch {
	case ctx.Err() != nil:
		return v, context.Cause(ctx)
	case proc.IsMachine(err):
		return v, err
	case err != nil:
		v.ExitCode = -1
		out.note(err.Error())
	case res.TimedOut:
		v.ExitCode, v.TimeoutMS = -1, p.Limit.Milliseconds()
		out.note("(command " + v.Exit() + ")")
	}
	return v, nil
}
