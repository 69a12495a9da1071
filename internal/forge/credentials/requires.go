package credentials

import (
	"net/url"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/tasks"
)

// Requires returns the environment variables that a job requires for its git host: of each
// list one must be set. Without an entry in forges:, the tokens of the environment are
// required for the API of the host, and for pushes if this environment has one: other
// remotes may need none. It returns names only, sorted.
func (f *Forges) Requires(j tasks.Job) [][]string {
	none := [][]string{}
	server, isHTTP := httpServer(j.Repo.URL)
	api := j.Publish == tasks.PublishPR || j.Comment != nil
	if a, err := remote.ParseAddress(j.Repo.URL); !isHTTP && api && err == nil && a.Scheme == "ssh" {
		server = &url.URL{Scheme: "https", Host: (&url.URL{Host: a.Host}).Hostname()}
	}
	if server == nil {
		return none
	}
	if e, ok := f.entry(server); ok && (e.App != nil || e.Key != nil || e.TokenEnv != "") {
		return ofEntry(e)
	}
	names := []string{TokenVariable}
	for _, t := range forgeTokens(f.Getenv, server) {
		names = append(names, t.variable)
	}
	given := slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(f.Getenv(name)) != "" })
	if !api && !(j.Publish.Pushes() && given) {
		return none
	}
	return [][]string{names}
}

// ofEntry returns the variables of an entry with a token.
func ofEntry(e tasks.Forge) [][]string {
	switch {
	case e.App != nil:
		all := [][]string{{e.App.IDEnv}, {e.App.KeyEnv}}
		slices.SortFunc(all, slices.Compare)
		return all
	case e.Key != nil:
		return [][]string{}
	}
	return [][]string{{e.TokenEnv}}
}
