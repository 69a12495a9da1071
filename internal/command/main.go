package command

import (
	"context"
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/app/excerpt"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// Main runs the command line and returns the exit code. It sets the version and the directory of the world.
func Main(ctx context.Context, args []string, w world.World) int {
	out := &world.Output{To: w.Out}
	w.Out, w.Version = out, version()
	w.Dir, _ = os.Getwd() // commands that need it report that it is unknown
	app := newApp(w)
	for _, text := range misspeltVariables(app, w.Names) {
		fmt.Fprintln(w.Err, printable.Text("millhand: warning: "+text))
	}
	err := runLine(ctx, app, args[min(1, len(args)):], w.Getenv)
	unwritten := out.Failure()
	if err == nil && unwritten == nil {
		return int(event.ExitOK)
	}
	known := w.Redactor(nil)
	shown := excerpt.Lines{Known: known}
	for _, p := range fault.ProblemsOf(err) { // they quote the manifest
		fmt.Fprintf(w.Err, "%s\n%s", printable.Text(known.Text(p.String())), shown.Of(p))
	}
	for _, each := range []error{err, unwritten} {
		if each != nil && each.Error() != "" {
			fmt.Fprintln(w.Err, "millhand: "+printable.Text(known.Text(each.Error())))
		}
	}
	return int(event.Worst([]event.Exit{fault.ExitOf(err), fault.ExitOf(unwritten)}))
}
