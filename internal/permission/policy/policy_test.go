package policy

import (
	"testing"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
)

func set(key Key, allow ...string) Set {
	return Set{{Name: "p.yaml", Rules: []Rule{{Key: key, Allow: allow, Source: "p.yaml:2"}}}}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		key     Key
		allow   []string
		name    string
		refused bool
	}{
		{Models, []string{"openai/*"}, "openai/gpt-5-mini", false},
		{Models, []string{"openai/*"}, "openai.evil/x", true},
		{Models, nil, "openai/gpt-5-mini", true},
		{Providers, []string{"openai"}, "openai", false},
		{Providers, []string{"openai"}, "openai2", true},
		{Hosts, []string{"example.com"}, "example.com", false},
		{Hosts, []string{"example.com"}, "EXAMPLE.com:8443", false},
		{Hosts, []string{"example.com:443"}, "example.com:8443", true},
		{Hosts, []string{"example.com:443"}, "example.com:443", false},
		{Hosts, []string{"example.com:443"}, "example.com", true}, // every port
		{Hosts, []string{"npm"}, "npm:80", true},
		{Actors, []string{"ann"}, "Ann", false},
		{Hosts, []string{"*.example.com"}, "git.example.com", false},
		{Hosts, []string{"*.example.com"}, "example.com", true},
		{Hosts, []string{"*.example.com"}, "example.com.evil.test", true},
		{Hosts, []string{"*.example.com"}, "*.git.example.com", false},
		{Hosts, []string{"git.example.com"}, "*.example.com", true},
		{Hosts, []string{"go"}, "proxy.golang.org", false},
		{Hosts, []string{"go"}, "go", false},
		{Hosts, []string{"10.0.0.7"}, "10.0.0.7", false},
		{Hosts, []string{"10.0.0.7"}, "10.0.0.8", true},
		{Hosts, []string{"*"}, "anything.example", false},
		{Hosts, []string{"*.com"}, "10.0.0.8", true},
		{Paths, []string{"/srv/repos"}, "/srv/repos", false},
		{Paths, []string{"/srv/repos"}, "/srv/repos/a/b", false},
		{Paths, []string{"/srv/repos"}, "/srv/repos2", true},
		{Paths, []string{"/srv/repos"}, "/srv", true},
		{Paths, []string{"/srv/repos"}, "", true},
		{Repos, []string{"git.example.com/acme/*"}, "git.example.com/acme/api", false},
		{Repos, []string{"git.example.com/acme/*"}, "git.example.com.evil.test/acme/api", true},
		{Extensions, []string{"*"}, "spy", false},
		{Setup, nil, "setup", true},
	} {
		by, refused := set(tt.key, tt.allow...).Refuses(tt.key, tt.name)
		if refused != tt.refused {
			t.Errorf("%s %q, asked for %q: refused is %v", tt.key, tt.allow, tt.name, refused)
		}
		if refused && by.By() != string(tt.key)+" (p.yaml:2)" {
			t.Errorf("refused by %s", by.By())
		}
	}
	if _, refused := set(Models).Refuses(Hosts, "example.com"); refused {
		t.Error("a key that no policy states refuses something")
	}
}

func TestTheStrictestPolicyDecides(t *testing.T) {
	both := append(set(Models, "openai/*", "anthropic/*"), set(Models, "openai/*")...)
	if _, refused := both.Refuses(Models, "anthropic/x"); !refused {
		t.Error("the wider policy decides")
	}
	both[0].Run, both[1].Day = Cap{USD: 5 * money.Dollar}, Cap{USD: 2 * money.Dollar, Source: "day"}
	if least := both.RunCap(); least.USD != 2*money.Dollar || least.Source != "day" {
		t.Errorf("the cap of a run is %+v", least)
	}
}

func TestTheBuiltInPolicyAppliesToManifestsOnly(t *testing.T) {
	all := append(set(Models, "openai/*"), ForUntrusted(nil))
	if !all.IsUntrusted() || all.Own().IsUntrusted() || len(all.Own()) != 1 {
		t.Errorf("own policies: %+v", all.Own())
	}
	if _, refused := all.Refuses(Setup, "setup"); !refused {
		t.Error("setup is allowed below a ceiling without a shell")
	}
	review, _ := permission.Preset("review")
	if _, refused := (Set{ForUntrusted(&review)}).Refuses(Verify, "verify"); !refused {
		t.Error("verify runs any command below a ceiling that allows a few")
	}
	build, _ := permission.Preset("build")
	if _, refused := (Set{ForUntrusted(&build)}).Refuses(Setup, "setup"); refused {
		t.Error("setup is refused below a ceiling with a shell")
	}
	if _, refused := all.InRepository("").Refuses(Paths, "/srv"); !refused {
		t.Error("without a repository there are paths that are its own")
	}
	if _, refused := all.InRepository("/srv").Refuses(Paths, "/srv/a"); refused {
		t.Error("a path of the repository is refused")
	}
	if len(all[1].Rules) != len(ForUntrusted(nil).Rules) {
		t.Error("InRepository changed the set that it was called on")
	}
}

func TestUnder(t *testing.T) {
	full, _ := permission.Preset("full")
	edit, _ := permission.Preset("edit")
	p := Policy{Name: "p.yaml", MaxProfile: &edit, Protect: []permission.Rule{permission.Protect("ci/**", "p.yaml:3")}}
	got := Set{p}.Under(full)
	for subject, allowed := range map[string]bool{"main.go": true, "ci/x": false} {
		if got.Allows("edit", subject) != allowed {
			t.Errorf("edit %s: allowed is %v", subject, !allowed)
		}
	}
	if got.Allows("bash", "ls") {
		t.Error("the profile exceeds the policy's most")
	}
	narrow := set(Hosts, "example.com").Under(full)
	if narrow.Max == nil || narrow.Max.Network.Allow || len(narrow.Max.Network.Hosts) != 1 {
		t.Errorf("ceiling %+v", narrow.Max)
	}
	for _, fresh := range []bool{true, false} {
		setup := set(SetupNetwork).Under(full).ForSetup([]string{"go"}, fresh)
		if setup.Max.HasNetwork() && (fresh || setup.Max.Max.HasNetwork()) {
			t.Errorf("setup commands have a network: %+v", setup.Max)
		}
	}
}
