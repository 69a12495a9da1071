package connect_test

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/forge/connect"
)

func TestServersAreChecked(t *testing.T) {
	for server, want := range map[string]string{
		"https://github.com": "", "https://git.example.com/sub": "", "http://127.0.0.1:3000": "", "http://localhost": "", "http://[::1]:1": "",
		"http://git.example.com": "http is for loopback only", "ftp://x": "invalid URL", "https://u:p@x": "invalid URL", "": "invalid URL", "https://x?y": "invalid URL",
	} {
		_, err := connect.Client(forge.Options{Kind: forge.GitHub, Server: server})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", server, err)
		}
	}
	for _, kind := range []forge.Kind{forge.GitHub, forge.GitLab, forge.Gitea} {
		if c, err := connect.Client(forge.Options{Kind: kind, Server: "https://git.example.com"}); err != nil || c.Kind() != kind || c.Host() != "git.example.com" {
			t.Errorf("%s: %v, %v", kind, c, err)
		}
	}
	if _, err := connect.Client(forge.Options{Kind: "bitbucket", Server: "https://x"}); err == nil {
		t.Error("an unknown kind was accepted")
	}
}
