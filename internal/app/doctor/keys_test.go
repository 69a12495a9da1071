package doctor

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/world"
)

func TestDoctorReportsTheServersOfTheToken(t *testing.T) {
	for _, c := range []struct{ hosts, want string }{
		{"", "MILLHAND_GIT_TOKEN (for runs on one git server; set MILLHAND_GIT_HOSTS for others)"},
		{"git.example.com", "MILLHAND_GIT_TOKEN (for git.example.com)"},
		{"*", `MILLHAND_GIT_TOKEN (MILLHAND_GIT_HOSTS: invalid host "*"`},
	} {
		env := map[string]string{"MILLHAND_GIT_TOKEN": "mine", "MILLHAND_GIT_HOSTS": c.hosts}
		if found := keys(world.World{Getenv: func(name string) string { return env[name] }}).Found; !strings.Contains(found, c.want) {
			t.Errorf("%q: doctor finds %q", c.hosts, found)
		}
	}
}
