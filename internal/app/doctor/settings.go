package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// keys reports the environment variables that contain keys of providers and
// forges, but never their values.
func keys(w world.World) Check {
	names := []string{"MILLHAND_GIT_TOKEN", "MILLHAND_SSH_KEY", "MILLHAND_GITHUB_APP_KEY", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GITEA_TOKEN"}
	var set []string
	model := false
	for _, name := range kinds.Names() {
		kind, _ := kinds.Lookup(name)
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
	c := Check{Name: "keys", Status: OK, Found: "set: " + strings.Join(set, ", ")}
	if len(set) == 0 {
		c.Found = "not set"
	}
	if !model && len(models.CloudLogins(w.Getenv)) == 0 {
		c.Status, c.Fix = Warning, "set the key of your model's provider, for example: export OPENAI_API_KEY=KEY, or ANTHROPIC_API_KEY; local servers and scripted models need no key"
	}
	return c
}

// checkLogins reports the logins to clouds. They are not tried, as this sends requests.
func checkLogins(all []models.Login) []Check {
	var list []Check
	for _, l := range all {
		c := Check{Name: "login of " + l.Model, Status: OK, Found: l.Source + "; not tried"}
		if l.Err != nil {
			c.Status, c.Found, c.Fix = Warning, l.Err.Error(), "see \"Logins of clouds\" in docs/models.md"
		}
		list = append(list, c)
	}
	return list
}

// endpoints reports the environment variables that set other endpoints of providers, and
// those of the providers' own tools that have no effect here.
func endpoints(w world.World) Check {
	var set, unread []string
	for _, name := range kinds.Names() {
		kind, _ := kinds.Lookup(name)
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
	c := Check{Name: "endpoints", Status: OK, Found: "set: " + strings.Join(slices.Compact(set), ", ")}
	if len(set) == 0 {
		c.Found = "the providers' own"
	}
	if len(unread) > 0 {
		c.Status = Warning
		c.Found += "; not read: " + strings.Join(unread, ", ")
		c.Fix = "set the endpoint, its key and headers under providers: in the manifest"
		if slices.ContainsFunc(unread, func(name string) bool { return strings.HasPrefix(name, "CLAUDE_CODE_USE_") }) {
			c.Fix = "write model: bedrock/MODEL or vertex/MODEL; millhand init converts the variables of Claude Code"
		}
	}
	return c
}

// buildCaches reports which caches of the user jobs can read, and how they see them.
func buildCaches(ctx context.Context, w world.World, tmp string, level sandbox.Level) Check {
	var found []string
	for _, e := range ecosystem.All() {
		if slices.ContainsFunc(e.Caches(), func(c ecosystem.Cache) bool {
			st, err := os.Stat(c.Dir(w.Getenv))
			return err == nil && st.IsDir()
		}) {
			found = append(found, e.Name)
		}
	}
	c := Check{Name: "build caches", Status: OK, Found: "read-only for jobs, with a private layer for what they add: " + strings.Join(found, ", ")}
	switch {
	case len(found) == 0:
		c.Found = "none of this user's; those of jobs start empty"
	case level == sandbox.Full:
		if err := sandbox.TryStore(ctx, tmp); err != nil {
			c.Status = Warning
			c.Found = fmt.Sprintf("read-only for jobs, as symlinks: %s (%v)", strings.Join(found, ", "), err)
			c.Fix = "set TMPDIR to a directory on a file system that supports upper layers of overlays, such as ext4, xfs, or tmpfs since Linux 6.6"
		}
	case level == sandbox.Partial:
		c.Found = "read-only for jobs, as symlinks: " + strings.Join(found, ", ")
	}
	return c
}

// Prices checks how old the prices are.
func Prices(w world.World) Check {
	table := pricetable.Saved(w)
	c := Check{Name: "prices", Status: OK, Found: fmt.Sprintf("%s, the newest of %s", figures.Count(len(table.Names()), "model"), table.Latest())}
	if table.Age(w.Now()) > prices.MaxAge {
		c.Status, c.Fix = Warning, "run millhand models --refresh: newer models have no price, and limits of cost use old ones"
	}
	return c
}

// checkPolicy checks the system policy for the doctor.
func checkPolicy(ctx context.Context, w world.World) Check {
	c := Check{Name: "policy", Status: OK, Found: policy.System + " does not exist: no restrictions"}
	if _, err := os.Lstat(policy.System); errors.Is(err, fs.ErrNotExist) {
		return c
	}
	c.Found = policy.System + " applies to every run"
	if _, err := manifest.LoadPolicy(ctx, policy.System, tasks.Options{Dir: "/", Getenv: w.Getenv}); err != nil {
		c.Status, c.Found, c.Fix, c.exit = Missing, err.Error(), "fix the file: all runs are refused until it is valid", event.ExitFailed
	}
	return c
}
