package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/runner"
)

// World is what a command sees of the process that it runs in.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Secrets  []string // that variables hold whose names say so, beside those that Getenv is known to give
	Now      func() time.Time
}

// failure is an error with the exit code that it comes to. An empty message
// means that everything has been said already.
type failure struct {
	exit event.Exit
	err  error
}

func (f failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f failure) Unwrap() error { return f.err }

// fail makes a failure of a formatted message.
func fail(exit event.Exit, format string, args ...any) error {
	return failure{exit, fmt.Errorf(format, args...)}
}

// exitWith ends a command with a code and no further message; nil for OK.
func exitWith(exit event.Exit) error {
	if exit == event.ExitOK {
		return nil
	}
	return failure{exit: exit}
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string, w World) int {
	app := newApp(w) //nolint:contextcheck // commands take the context from their cli.Context
	args, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	if err == nil {
		return int(event.ExitOK)
	}
	exit := event.ExitUsage
	var f failure
	if errors.As(err, &f) {
		exit = f.exit
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintln(w.Err, "millhand: "+printable.Text(secrets(w, nil, nil).Text(msg)))
	}
	return int(exit)
}

// Unfit says why the process can't be used at all, and returns the exit code.
func Unfit(log io.Writer, why error) int {
	fmt.Fprintln(log, "millhand: "+printable.Text(why.Error()))
	return int(event.ExitInternal)
}

// Signals returns a context that SIGINT, SIGTERM or SIGHUP ends with a
// [runner.Interrupt] as its cause. A second signal ends the process at once.
// SIGPIPE is taken and does nothing: that nobody reads the log any more must
// not end the work.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	sigs := make(chan os.Signal, 2)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// Taken, not ignored: what is ignored would be so in every child, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var exit event.Exit
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case sig := <-sigs:
				if n > 0 {
					os.Exit(int(exit))
				}
				exit = event.ExitTerminate
				if sig == syscall.SIGINT {
					exit = event.ExitInterrupt
				}
				cancel(runner.Interrupt{Signal: unix.SignalName(sig.(syscall.Signal)), Exit: exit})
			}
		}
	}()
	return ctx, func() {
		signal.Stop(sigs)
		close(done)
		cancel(nil)
	}
}

// newApp builds the command tree.
func newApp(w World) *cli.App {
	app := &cli.App{
		Name:                      "millhand",
		Usage:                     "runs AI coding agents in batches and in CI, under rules that only allow or deny",
		Version:                   version(),
		Reader:                    w.In,
		Writer:                    w.Out,
		ErrWriter:                 w.Err,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // Main decides
		Commands: []*cli.Command{
			runCommand(w), validateCommand(w), planCommand(w), policyCommand(w), toolCommand(w), toolsCommand(w),
			reportCommand(w), runsCommand(w), modelsCommand(w), doctorCommand(w), versionCommand(w), actionCommand(w),
		},
	}
	for _, name := range notYet() {
		app.Commands = append(app.Commands, notYetCommand(name))
	}
	cli.VersionPrinter = func(*cli.Context) { fmt.Fprintln(w.Out, "millhand "+version()) }
	finishCommands(app.Commands)
	return app
}

// notYet lists the commands of later releases.
func notYet() []string {
	return []string{"session", "publish", "schema", "explain", "init"}
}

func notYetCommand(name string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: "not supported yet", Hidden: true, SkipFlagParsing: true,
		Action: func(*cli.Context) error { return fail(event.ExitUsage, "%s is not supported yet", name) },
	}
}
