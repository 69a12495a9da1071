package shown

import (
	"bytes"
	"context"
	"io"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
)

// Painter returns a function that adds the colours of styles, if standard output has colours.
func Painter(w world.World) func(printable.Style, string) string {
	codes := map[printable.Style]string{printable.Heading: "1", printable.Aside: "2", printable.Good: "32", printable.Bad: "31"}
	if !view.Colours(w.Out, w.Getenv) {
		codes = nil
	}
	return func(s printable.Style, text string) string {
		if code := codes[s]; code != "" && text != "" {
			return "\x1b[" + code + "m" + text + "\x1b[0m"
		}
		return text
	}
}

// defaultPager is less if it is installed.
const defaultPager = "if command -v less >/dev/null; then exec less; else exec cat; fi"

// Paged writes to standard output, on a terminal through $PAGER.
func Paged(ctx context.Context, w world.World, write func(io.Writer) error) error {
	terminal, ok := view.Terminal(w.Out, w.Getenv)
	if !ok {
		return write(w.Out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	pager := w.Getenv("PAGER")
	if pager == "" {
		pager = defaultPager
	}
	env := proc.ChildEnv(w.Getenv, []string{"TERM", "COLORTERM", "LESS", "LESSCHARSET", "LESSHISTFILE", "LV"})
	if proc.Value(env, "LESS") == "" {
		env = proc.Set(env, "LESS", "FRX") // as git does: colours, and no pages if the text fits on the screen
	}
	if err := proc.Page(ctx, pager, env, terminal, &text); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	return nil
}
