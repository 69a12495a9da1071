package manifest

import (
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/internal/permission/reach"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

var (
	searchForm    = form.Of[[]form.Definition[tasks.Search]]{Type: form.TypeOf(searchKeys), Read: readSearch}
	searchURLForm = form.Of[string]{Type: form.Type{Name: "string"}, Read: readSearchURL}
)

// readSearch reads the service that the web search tools query; none if no key
// is set.
func readSearch(v form.Value) ([]form.Definition[tasks.Search], bool) {
	var s tasks.Search
	got := searchKeys(&s).Read(v)
	if len(got) == 0 {
		return nil, false
	}
	v.Refused(policy.Endpoints, "a search service", v.Label)
	if _, ok := got["backend"]; !ok {
		v.Lacks("backend", "add backend: exa or backend: json")
	}
	if _, ok := got["url"]; !ok && s.Backend == "json" {
		v.Lacks("url", "add url: https://HOST/search")
	}
	return []form.Definition[tasks.Search]{{Value: v, Title: "search", Digest: tasks.Digest(s), Is: s}}, true
}

func readSearchURL(v form.Value) (string, bool) {
	u, ok := readAddress(v)
	if ok {
		v.Refused(policy.Hosts, "the host "+problem.Quote(u.Host), reach.WithPort(u.Scheme, u.Host))
	}
	return v.Node.Value, ok
}

// SkillDir is a directory of skills as it is written, and its absolute path.
type SkillDir struct{ Written, Path string }

var skillsForm = form.Of[SkillDir]{Type: form.Type{Name: "string"}, Read: readSkillDir}

// readSkillDir reads one directory of skills.
func readSkillDir(v form.Value) (SkillDir, bool) {
	t, ok := v.Filled()
	if !ok {
		return SkillDir{}, false
	}
	path := userfile.Resolve(v.Src.Dir, t.S)
	if v.Outside(path, t.S) {
		return SkillDir{}, false
	}
	v.Uses().Tree(v, path, t.S)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		v.Problem(fmt.Sprintf("directory %s: %s", problem.Quote(t.S), userfile.Missing(err)), "check its path; it is relative to the manifest")
	case !info.IsDir():
		v.Problem(problem.Quote(t.S)+" is not a directory", "name the directory that contains the skills' directories")
	default:
		return SkillDir{t.S, path}, true
	}
	return SkillDir{}, false
}

// The most that tool_output may ask for: beyond that, a window of a model is
// full after one call.
const (
	maxOutputLines = 1_000_000
	maxOutputBytes = 10 << 20
)

func searchKeys(s *tasks.Search) form.Table {
	return form.Table{
		{Name: "backend", Field: form.Into(&s.Backend, form.Enum("exa", "json")), Doc: "Protocol of the service"},
		{Name: "url", Field: form.Into(&s.URL, searchURLForm), Doc: "URL of the service (required for json)"},
		{Name: "key_env", Field: form.Into(&s.KeyEnv, programs.Variable), Doc: "Environment variable with the API key"},
	}
}
