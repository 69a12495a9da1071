package tasks

import (
	"fmt"
	"os"

	"github.com/millhand/millhand/internal/policy"
)

// readSearch reads the service that the web's search tools ask; none if nothing is
// said.
func readSearch(v value) ([]definition[Search], bool) {
	var s Search
	got := fields{
		"backend": into(&s.Backend, word("exa", "json")),
		"url": func(v value) {
			if u, ok := readAddress(v); ok {
				s.URL = v.node.Value
				v.refused(policy.Hosts, "the host "+quote(u.Host), withPort(u.Scheme, u.Host))
			}
		},
		"key_env": into(&s.KeyEnv, readVariable),
	}.read(v)
	if len(got) == 0 {
		return nil, false
	}
	v.refused(policy.Endpoints, "a search service", v.name)
	if _, said := got["backend"]; !said {
		v.problem("the search has no backend", "write backend: exa or backend: json")
	}
	if _, said := got["url"]; !said && s.Backend == "json" {
		v.problem("the backend json has no url", "write url: https://HOST/search")
	}
	return []definition[Search]{{value: v, title: "search", digest: digest(s), is: s}}, true
}

// skillFolder is a folder of skills as it is written, and where it is.
type skillFolder struct{ written, path string }

// readSkillFolder reads one folder of skills.
func readSkillFolder(v value) (skillFolder, bool) {
	t, ok := v.filled()
	if !ok {
		return skillFolder{}, false
	}
	path := resolvePath(v.src.dir, t.s)
	if v.outside(path, t.s) {
		return skillFolder{}, false
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		v.problem(fmt.Sprintf("the folder %s %s", quote(t.s), missing(err)), "check its path; it is relative to the manifest")
	case !info.IsDir():
		v.problem(quote(t.s)+" is not a folder", "name the folder that holds the skills' folders")
	default:
		return skillFolder{t.s, path}, true
	}
	return skillFolder{}, false
}

// The most that tool_output may ask for: beyond that, a window of a model is
// full after one call.
const (
	maxOutputLines = 1_000_000
	maxOutputBytes = 10 << 20
)

// readOutputLimits reads how much of a tool's output a model gets.
func readOutputLimits(v value) (OutputLimits, bool) {
	var o OutputLimits
	fields{"lines": into(&o.Lines, number(maxOutputLines)), "bytes": into(&o.Bytes, number(maxOutputBytes))}.read(v)
	return o, true
}
