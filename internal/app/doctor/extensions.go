package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tasks"
)

// checkExtensions checks whether the programs of a plan's extensions are installed. It
// starts nothing, and uses no network.
func checkExtensions(w world.World, plan *tasks.Plan) []Check {
	var all []Check
	for _, x := range planned.Extensions(plan, w.Getenv) {
		c := Check{Name: x.Kind + " " + x.Name, Status: OK, Found: x.String() + "; not contacted"}
		if x.URL == "" {
			c.Found = x.String()
			if ofWorkspace(x) {
				c.Found += "; not checked: it is in the workspace"
			} else if err := installed(w, x); err != nil {
				c.Status, c.exit = Missing, event.ExitFailed
				c.Found, c.Fix = err.Error(), installFix(x)
			}
		}
		if x.Optional && c.Status == Missing { // jobs continue without it
			c.Status, c.exit = Warning, event.ExitOK
		}
		all = append(all, c)
	}
	return all
}

// installFix returns what to do about a program that does not exist.
func installFix(x planned.Extension) string {
	if x.Kind == "js" {
		return "install Node.js 20 or newer, or Bun, or fix js.runtime in the manifest"
	}
	return "install it, or fix the command in the manifest"
}

// ofWorkspace reports whether the program is a file in the workspace of a job.
func ofWorkspace(x planned.Extension) bool {
	return strings.Contains(x.Command[0], "/") && !filepath.IsAbs(x.Command[0])
}

// installed returns an error if the program of an extension does not exist.
func installed(w world.World, x planned.Extension) error {
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
