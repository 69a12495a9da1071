package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// A repository's configuration can name programs as transports, and a missing object
// makes git start one.
func TestGitStartsNoTransport(t *testing.T) {
	git, dir := gittest.GitProgram(t), t.TempDir()
	started := filepath.Join(dir, "started")
	touch := filepath.Join(dir, "touch.sh")
	must(t, os.WriteFile(touch, []byte("#!/bin/sh\ntouch "+started+"\n"), 0o755))
	for _, url := range []string{"ext::" + touch, "file://" + dir, dir, "ssh://localhost/x", "http://127.0.0.1:1/x"} {
		cmd := Command(t.Context(), git, "-c", "protocol.allow=always", "-c", "protocol.ext.allow=always", "-c", "protocol.file.allow=always",
			"-c", "core.sshCommand="+touch, "ls-remote", "--upload-pack="+touch, url)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not allowed") {
			t.Errorf("%s: %v\n%s", url, err, out)
		}
		if _, err := os.Stat(started); err == nil {
			t.Fatalf("%s: the program was started", url)
		}
	}
}

func TestPromisorRemotesAreRefused(t *testing.T) {
	s := gittest.NewSandbox(t)
	s.Run("config", "remote.origin.url", "file:///nowhere")
	s.Run("config", "remote.origin.promisor", "false")
	if _, err := open(s); err != nil {
		t.Errorf("promisor=false: %v", err)
	}
	s.Run("config", "remote.origin.promisor", "true")
	if _, err := open(s); err == nil || !strings.Contains(err.Error(), "remote.origin.promisor") {
		t.Errorf("error %v, want one that names the key", err)
	}
}
