package tasks

import (
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

var (
	searchForm    = form[[]definition[Search]]{typeOf((*Search).keys), readSearch}
	searchURLForm = form[string]{Type{Name: "string"}, readSearchURL}
)

// readSearch reads the service that the web search tools query; none if no key
// is set.
func readSearch(v value) ([]definition[Search], bool) {
	var s Search
	got := s.keys().read(v)
	if len(got) == 0 {
		return nil, false
	}
	v.refused(policy.Endpoints, "a search service", v.name)
	if _, ok := got["backend"]; !ok {
		v.lacks("backend", "add backend: exa or backend: json")
	}
	if _, ok := got["url"]; !ok && s.Backend == "json" {
		v.lacks("url", "add url: https://HOST/search")
	}
	return []definition[Search]{{value: v, title: "search", digest: digest(s), is: s}}, true
}

func readSearchURL(v value) (string, bool) {
	u, ok := readAddress(v)
	if ok {
		v.refused(policy.Hosts, "the host "+problem.Quote(u.Host), withPort(u.Scheme, u.Host))
	}
	return v.node.Value, ok
}

// skillDir is a directory of skills as it is written, and its absolute path.
type skillDir struct{ written, path string }

var skillsForm = form[skillDir]{Type{Name: "string"}, readSkillDir}

// readSkillDir reads one directory of skills.
func readSkillDir(v value) (skillDir, bool) {
	t, ok := v.filled()
	if !ok {
		return skillDir{}, false
	}
	path := resolvePath(v.src.dir, t.s)
	if v.outside(path, t.s) {
		return skillDir{}, false
	}
	v.uses().tree(v, path, t.s)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		v.problem(fmt.Sprintf("directory %s: %s", problem.Quote(t.s), missing(err)), "check its path; it is relative to the manifest")
	case !info.IsDir():
		v.problem(problem.Quote(t.s)+" is not a directory", "name the directory that contains the skills' directories")
	default:
		return skillDir{t.s, path}, true
	}
	return skillDir{}, false
}

// The most that tool_output may ask for: beyond that, a window of a model is
// full after one call.
const (
	maxOutputLines = 1_000_000
	maxOutputBytes = 10 << 20
)

func (s *Search) keys() keys {
	return keys{
		{"backend", into(&s.Backend, enum("exa", "json")), "", "Protocol of the service"},
		{"url", into(&s.URL, searchURLForm), "", "URL of the service (required for json)"},
		{"key_env", into(&s.KeyEnv, keyEnvForm), "", "Environment variable with the API key"},
	}
}
