package outlook

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// setupNote is what the setup commands of a planned job may reach.
type setupNote struct {
	Hosts []string `json:"hosts"` // "*" for all public ones
	// Output is why it is only what other commands may reach; "" otherwise.
	Output string `json:"model_output"`
}

// setupNotes returns the notes of jobs with setup commands whose repository is on this machine.
func setupNotes(ctx context.Context, w world.World, plan *tasks.Plan, ready *preflight.Result) map[string]setupNote {
	notes := map[string]setupNote{}
	for _, j := range plan.Jobs {
		if len(j.Setup) == 0 {
			continue
		}
		u, known, err := ready.SetupOf(ctx, j, w.Getenv)
		if err != nil {
			fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("warning: setup of %s: %v", j.ID, err)))
		}
		if known {
			notes[j.ID] = setupNote{append([]string{}, u.Hosts()...), u.Output}
		}
	}
	return notes
}

func (n setupNote) String() string {
	hosts := strings.Join(n.Hosts, ", ")
	switch {
	case hosts == "":
		hosts = "no host"
	case n.Hosts[0] == "*":
		hosts = strings.Replace(hosts, "*", "all public hosts", 1)
	}
	if n.Output != "" {
		hosts += ", as its other commands: " + n.Output
	}
	return hosts
}

// proposeSetup prints what setup a task lacks, once for each task and proposal: its repository
// has dependencies that its verify commands could not find or download.
func proposeSetup(w world.World, plan *tasks.Plan) {
	if _, refused := plan.Policies.Refuses(policy.Setup, string(policy.Setup)); refused {
		return
	}
	proposed := map[string]bool{}
	for _, j := range plan.Jobs {
		if len(j.Setup) > 0 || len(j.Verify) == 0 || j.Profile.HasNetwork() || j.Repo.Kind == tasks.RepoURL {
			continue
		}
		file, setup := missingSetup(w, j)
		key := j.Task + "\x00" + setup
		if setup == "" || proposed[key] {
			continue
		}
		proposed[key] = true
		lacks := fmt.Sprintf("task %s has verify but no setup, and the dependencies in %s are not in the cache: add setup: [%s]", j.Task, file, setup)
		if plan.Manifests[0] == "-p" {
			lacks = fmt.Sprintf("--verify is set without --setup, and the dependencies in %s are not in the cache: add %s", file, planned.SetupFlags(setup))
		}
		fmt.Fprintln(w.Err, printable.Line("warning: "+lacks, 1000))
	}
}

// missingSetup returns the setup that a job in a directory on this machine lacks, and the
// file that shows it; "" for none.
func missingSetup(w world.World, j tasks.Job) (file, setup string) {
	root, err := os.OpenRoot(j.Repo.Dir)
	if err != nil {
		return "", "" // the job is refused for it
	}
	defer root.Close()
	found, err := ecosystem.Detect(root)
	if err != nil {
		return "", ""
	}
	var lines, files, commands []string
	for _, v := range j.Verify {
		lines = append(lines, v.Run)
	}
	for _, f := range ecosystem.Needed(found, lines) {
		cached := slices.Contains(j.Profile.Cache, permission.AutoCache) || slices.Contains(j.Profile.Cache, f.Name)
		if f.Missing(root, cached, w.Getenv) {
			files, commands = append(files, path.Join(f.Dir, f.File)), append(commands, f.Command())
		}
	}
	return strings.Join(files, ", "), strings.Join(commands, ", ")
}

// printSetups prints what setup commands may reach.
func printSetups(out io.Writer, plan *tasks.Plan, notes map[string]setupNote) error {
	return printGroups(out, plan, "setup of %s may reach %s\n", func(j tasks.Job) string {
		n, ok := notes[j.ID]
		if !ok || len(n.Hosts) == 0 && n.Output == "" {
			return ""
		}
		return n.String()
	})
}

// printAfterUntrusted prints which rights jobs lose.
func printAfterUntrusted(out io.Writer, plan *tasks.Plan) error {
	return printGroups(out, plan, "after untrusted content %s is limited to %s\n", func(j tasks.Job) string {
		if j.AfterUntrusted == nil {
			return ""
		}
		return j.AfterUntrusted.String()
	})
}

// printGroups prints a text about jobs, once for all jobs for which it is the same; "" is not printed.
func printGroups(out io.Writer, plan *tasks.Plan, format string, about func(tasks.Job) string) error {
	var texts []string
	jobs := map[string][]string{}
	for _, j := range plan.Jobs {
		text := about(j)
		if text == "" {
			continue
		}
		if jobs[text] == nil {
			texts = append(texts, text)
		}
		jobs[text] = append(jobs[text], j.ID)
	}
	for _, text := range texts {
		list := jobs[text]
		of := strings.Join(list[:min(len(list), 3)], ", ")
		if more := len(list) - 3; more > 0 {
			of += fmt.Sprintf(" and %d more", more)
		}
		if _, err := fmt.Fprintf(out, format, of, printable.Line(text, 1000)); err != nil {
			return err
		}
	}
	return nil
}
