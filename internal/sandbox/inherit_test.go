//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesOfTheParentAreNotInherited(t *testing.T) {
	p := newFixture(t)
	f, err := os.Create(filepath.Join(p.outside, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, level := range confining() {
		t.Run(string(level), func(t *testing.T) {
			s := inside(t, p.spec(), level)
			l, err := s.Launch([]string{"bash", "-c", "ls /proc/self/fd | wc -l"}, []string{"PATH=/usr/bin:/bin"}, p.workspace)
			if err != nil {
				t.Fatal(err)
			}
			cmd := &exec.Cmd{Path: l.Path, Args: l.Args, Env: l.Env, Dir: l.Dir, SysProcAttr: l.Attr, ExtraFiles: append(l.Files, f)}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := l.Started(); err != nil {
				t.Fatal(err)
			}
			text := make([]byte, 10)
			n, _ := out.Read(text)
			if _, err := finish(t, cmd, l); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(text[:n])); got != "4" { // 0 to 2, and the directory
				t.Errorf("the command has %s files", got)
			}
		})
	}
}
