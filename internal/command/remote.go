package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

// preflight looks at the repositories of a plan, and says on the log how
// fetching goes.
func preflight(ctx context.Context, w World, plan *tasks.Plan, quiet bool) (*runner.Ready, error) {
	look := look(w)
	if !quiet {
		look.Fetching = func(name string) { fmt.Fprintln(w.Err, printable("fetching "+name)) }
		look.Fetched = func(name string, err error) {
			if err != nil {
				fmt.Fprintln(w.Err, printable(fmt.Sprintf("fetch %s: %v", name, err)))
				return
			}
			fmt.Fprintln(w.Err, printable("fetched "+name))
		}
	}
	ready, err := runner.Preflight(ctx, plan, look)
	var interrupt runner.Interrupt
	switch {
	case errors.As(context.Cause(ctx), &interrupt):
		return nil, fail(interrupt.Exit, "%w; nothing was run", interrupt)
	case ctx.Err() != nil:
		return nil, fail(event.ExitDeadline, "%w; nothing was run", context.Cause(ctx))
	case err != nil:
		return nil, fail(event.ExitUsage, "%w; nothing was run", err)
	}
	return ready, nil
}

// look is what a preflight needs of the process's surroundings.
func look(w World) runner.Look {
	return runner.Look{
		Git: gitEnv(w), Mirrors: filepath.Join(cacheDir(w), "mirrors"),
		Auth: func([]string) (func(url string) remote.Auth, error) {
			return func(url string) remote.Auth { return auth(w.Getenv, url) }, nil
		},
	}
}

// cacheDir is where things are kept between runs that could be got again. It
// is below the current directory where the process has no home, as under cron.
func cacheDir(w World) string {
	for _, dir := range []struct{ env, below string }{
		{"MILLHAND_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "millhand"}, {"HOME", ".cache/millhand"},
	} {
		if at := w.Getenv(dir.env); filepath.IsAbs(at) {
			return filepath.Join(at, dir.below)
		}
	}
	at, err := filepath.Abs(filepath.Join(".millhand", "cache"))
	if err != nil {
		return filepath.Join(".millhand", "cache")
	}
	return at
}

// auth is what a remote gets as credentials. A token that a CI gives for its
// own forge never goes to another host.
func auth(getenv func(string) string, address string) remote.Auth {
	home := getenv("HOME")
	a := remote.Auth{
		SSHAgent: getenv("SSH_AUTH_SOCK"), SSHKey: getenv("MILLHAND_SSH_KEY"), SSHPassphrase: getenv("MILLHAND_SSH_PASSPHRASE"),
		KnownHosts: getenv("MILLHAND_KNOWN_HOSTS"),
	}
	if a.KnownHosts == "" && home != "" {
		a.KnownHosts = filepath.Join(home, ".ssh", "known_hosts")
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return a
	}
	for _, t := range tokens(getenv, u) {
		if value := strings.TrimSpace(getenv(t.variable)); value != "" && a.Token == "" {
			a.Token, a.User = value, t.user
		}
	}
	return a
}

// token is a variable that may hold a token, and the user that goes with it; ""
// for the usual one.
type token struct{ variable, user string }

// tokens lists the variables that may hold a token for a server; the first that
// is set wins. A server on this machine may be any forge.
func tokens(getenv func(string) string, server *url.URL) []token {
	list := []token{{"MILLHAND_GIT_TOKEN", ""}}
	for _, f := range []struct {
		host, server string
		tokens       []token
	}{
		{"github.com", "GITHUB_SERVER_URL", []token{{"GITHUB_TOKEN", ""}, {"GH_TOKEN", ""}}},
		{"gitlab.com", "CI_SERVER_URL", []token{{"GITLAB_TOKEN", "oauth2"}, {"CI_JOB_TOKEN", "gitlab-ci-token"}}},
		{"codeberg.org", "GITEA_SERVER_URL", []token{{"GITEA_TOKEN", ""}}},
	} {
		own, err := url.Parse(getenv(f.server))
		if strings.EqualFold(server.Host, f.host) || err == nil && own.Host != "" && strings.EqualFold(own.Host, server.Host) || loopback(server.Hostname()) {
			list = append(list, f.tokens...)
		}
	}
	return list
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
