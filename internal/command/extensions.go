package command

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tasks"
)

// plannedExtension is what jobs of a plan start beside the model, in the JSON form of plans.
type plannedExtension struct {
	Kind     string   `json:"kind"` // as in reports
	Name     string   `json:"name"`
	Command  []string `json:"command"` // empty for a remote server
	URL      string   `json:"url"`     // "" for a process
	Optional bool     `json:"optional"`
}

// plannedExtensions returns the extensions of a plan. A job starts those whose tools its
// profile allows.
func plannedExtensions(plan *tasks.Plan) []plannedExtension {
	all := []plannedExtension{}
	for _, s := range plan.MCP {
		one := plannedExtension{Kind: "mcp", Name: s.Name, Command: append([]string{}, s.Process.Command...), Optional: s.Optional}
		if s.Remote != nil {
			one.URL = s.Remote.URL
		}
		all = append(all, one)
	}
	return all
}

func (x plannedExtension) String() string {
	text := strings.Join(x.Command, " ")
	if x.URL != "" {
		text = x.URL
	}
	if x.Optional {
		text += " (optional)"
	}
	return text
}

// printExtensions prints the extensions of a plan.
func printExtensions(out io.Writer, plan *tasks.Plan) error {
	var b strings.Builder
	for i, x := range plannedExtensions(plan) {
		if i == 0 {
			b.WriteString("\nextensions\n")
		}
		fmt.Fprintf(&b, "  %s %s: %s\n", x.Kind, x.Name, printable.Line(x.String(), 200))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// checkExtensions checks whether the programs of a plan's extensions are installed. It
// starts nothing, and uses no network.
func checkExtensions(w World, plan *tasks.Plan) []check {
	var all []check
	for _, x := range plannedExtensions(plan) {
		c := check{Name: x.Kind + " " + x.Name, Status: checkOK, Found: x.String() + "; not contacted"}
		if x.URL == "" {
			c.Found = x.String()
			if err := x.installed(w); err != nil {
				c.Status, c.exit = checkMissing, event.ExitFailed
				c.Found, c.Fix = err.Error(), "install it, or fix the command in the manifest"
			}
		}
		if x.Optional && c.Status == checkMissing { // jobs continue without it
			c.Status, c.exit = checkWarning, event.ExitOK
		}
		all = append(all, c)
	}
	return all
}

// installed returns an error if the program of an extension does not exist.
func (x plannedExtension) installed(w World) error {
	path, err := proc.Look(x.Command[0], []string{"PATH=" + w.Getenv("PATH")})
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}
