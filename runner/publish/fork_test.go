package publish

import (
	"testing"

	"github.com/millhand/millhand/internal/forge"
)

func TestURLsOfForks(t *testing.T) {
	fork := Fork{Path: forge.Path{Owner: "mill/bots", Name: "web"}}
	for url, want := range map[string]string{
		"https://h.example/acme/web.git":        "https://h.example/mill/bots/web.git",
		"https://h.example/acme/web":            "https://h.example/mill/bots/web.git",
		"https://h.example:8443/git/acme/web/":  "https://h.example:8443/git/mill/bots/web.git",
		"ssh://git@h.example:2222/acme/web.git": "ssh://git@h.example:2222/mill/bots/web.git",
		"git@h.example:acme/web.git":            "git@h.example:mill/bots/web.git",
		"https://h.example/acme/other.git":      "",
	} {
		got, err := fork.URL(url, forge.Path{Owner: "acme", Name: "web"})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
}
