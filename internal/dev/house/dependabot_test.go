package house

import (
	"testing"

	"gopkg.in/yaml.v3"
)

// TestDependabotRaisesIndirectDependencies fails if Dependabot updates only what the module requires
// directly, which is what it does by default.
func TestDependabotRaisesIndirectDependencies(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem string `yaml:"package-ecosystem"`
			Allow     []struct {
				Type string `yaml:"dependency-type"`
			}
			Ignore []any
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	modules := 0
	for _, update := range config.Updates {
		if update.Ecosystem != "gomod" {
			continue
		}
		modules++
		if len(update.Allow) != 1 || update.Allow[0].Type != "all" || update.Ignore != nil {
			t.Errorf("gomod: allow is %v and ignore is %v, want the dependency-type all and nothing ignored", update.Allow, update.Ignore)
		}
	}
	if modules == 0 {
		t.Error("gomod has no updates")
	}
}
