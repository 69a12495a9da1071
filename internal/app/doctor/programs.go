package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/printable"
)

// programs checks the programs that millhand or its agents run.
func programs(ctx context.Context, w world.World) []Check {
	var list []Check
	for _, p := range []struct {
		name, program, without string
		exit                   event.Exit
	}{
		{"bash", "bash", "profiles with bash, setup and verify require it", event.ExitFailed},
		{"git", "git", "without it worktrees are created more slowly, file: remotes are not supported, and agents can't inspect the history", 0},
	} {
		path, err := proc.Look(p.program, []string{"PATH=" + w.Getenv("PATH")})
		if err != nil {
			c := Check{Name: p.name, Status: Warning, Found: "not on PATH", Fix: install(w, p.program) + ": " + p.without, exit: p.exit}
			if p.exit != 0 {
				c.Status = Missing
			}
			list = append(list, c)
			continue
		}
		version, err := programVersion(ctx, w, path)
		c := Check{Name: p.name, Status: OK, Found: path + ", " + version}
		switch {
		case err != nil:
			c.Status, c.Found, c.Fix = Warning, fmt.Sprintf("%s --version: %v", path, err), "re"+install(w, p.program)
		case p.name == "git" && oldGit(version):
			c.Status, c.Fix = Warning, fmt.Sprintf("install git 2.%d or later: older versions are not tested, and some ignore settings that restrict them", minGit)
		}
		list = append(list, c)
	}
	return list
}

// install returns how to install a program, with the command of the package manager.
func install(w world.World, program string) string {
	for _, command := range []string{"apt-get install", "dnf install", "apk add", "pacman -S", "zypper install", "brew install"} {
		manager, _, _ := strings.Cut(command, " ")
		if _, err := proc.Look(manager, []string{"PATH=" + w.Getenv("PATH")}); err != nil {
			continue
		}
		if os.Geteuid() != 0 && manager != "brew" {
			command = "sudo " + command
		}
		return fmt.Sprintf("install %s (%s %s)", program, command, program)
	}
	return "install " + program
}

// minGit is the minor version of git 2 that Debian 11 has, the oldest that is
// supported by its distribution.
const minGit = 30

// oldGit reports whether git prints a version before 2.minGit.
func oldGit(version string) bool {
	var major, minor int
	if n, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor); n < 2 || err != nil {
		return false
	}
	return major < 2 || major == 2 && minor < minGit
}

// versionTimeout limits the time of a program to print its version.
const versionTimeout = 10 * time.Second

// programVersion returns the first line that a program prints for --version.
func programVersion(ctx context.Context, w world.World, program string) (string, error) {
	output := proc.NewTail(4 << 10)
	res, err := proc.Run(ctx, proc.Command{Args: []string{program, "--version"}, Dir: "/", Env: proc.ChildEnv(w.Getenv, nil), Timeout: versionTimeout, Output: output})
	if err != nil {
		return "", err
	}
	if res.ExitCode != 0 {
		return "", fmt.Errorf("exit code %d", res.ExitCode)
	}
	first, _, _ := bytes.Cut(output.Bytes(), []byte("\n"))
	return printable.Line(string(first), 80), nil
}
