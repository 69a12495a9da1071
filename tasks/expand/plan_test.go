package expand

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenPlan is a plan as the golden files have it: a job has the name of its
// profile; a profile's own rules are written as text, and those of presets are
// left out.
type goldenPlan struct {
	tasks.Plan
	Jobs     []goldenJob
	Agents   []goldenAgent
	Profiles []goldenProfile
}

type goldenAgent struct {
	tasks.Agent
	Max string
}

type goldenJob struct {
	tasks.Job
	If      string
	Profile string
}

type goldenProfile struct {
	Name     string
	Rules    []string
	Network  permission.Network
	Cache    []string
	Env      []string
	Examples []permission.Example
}

func golden(p *tasks.Plan) goldenPlan {
	g := goldenPlan{Plan: *p}
	g.Hash = "" // it follows the presets, which have tests of their own
	for _, j := range p.Jobs {
		condition := ""
		if j.If != nil {
			condition = j.If.String()
		}
		j.Hash = "" // as above
		g.Jobs = append(g.Jobs, goldenJob{j, condition, j.Profile.Name})
	}
	for _, a := range p.Agents {
		most := ""
		if a.Max != nil {
			most = a.Max.Name
		}
		g.Agents = append(g.Agents, goldenAgent{a, most})
	}
	for _, profile := range p.Profiles {
		g.Profiles = append(g.Profiles, goldenProfileOf(profile))
	}
	return g
}

func goldenProfileOf(p permission.Profile) goldenProfile {
	g := goldenProfile{Name: p.Name, Network: p.Network, Cache: p.Cache, Env: p.Env, Examples: p.Examples}
	for _, r := range p.Rules {
		if !strings.HasPrefix(r.Source, "preset ") {
			g.Rules = append(g.Rules, r.String()+" at "+r.Source)
		}
	}
	return g
}

func TestGoldenPlans(t *testing.T) {
	for _, name := range []string{"minimal", "everything", "matrix", "bulk"} {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join("testdata", name)
			dir := filepath.Join(t.TempDir(), name) // out of millhand's own repository, whose directories they would be
			if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			p, err := Load(t.Context(), []string{"millhand.yaml"}, options(dir))
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.MarshalIndent(golden(p), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(string(data), dir, "$DIR") + "\n"
			file := filepath.Join(source, "plan.golden.json")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
