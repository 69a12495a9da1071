// Package audit verifies the evidence of a saved run: its events and files, the commits in repositories, which it
// fetches if they are elsewhere, and the signature. It writes nothing in the report directory; what the evidence
// has to be is decided by package verification.
package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/app/audit/verification"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tasks"
)

// Options are what the flags of "millhand verify-report" set.
type Options struct {
	Dir     string
	Repos   []string // paths and URLs
	Signers string   // file; "" for none
	JSON    bool
}

// Verify verifies a report directory, and prints what was found.
func Verify(ctx context.Context, w world.World, given Options) error {
	root, err := os.OpenRoot(given.Dir)
	if err != nil {
		return fault.New(event.ExitUsage, "open the report directory: %w", err)
	}
	defer root.Close()
	allowed, err := allowedSigners(given.Signers)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	repos := make([]*gitops.Repo, len(given.Repos))
	for i, name := range given.Repos {
		if repos[i], err = openOrFetch(ctx, w, name); err != nil {
			return fault.New(event.ExitUsage, "--repo %s: %w", name, err)
		}
	}
	v := verification.Verify(verification.Options{Files: root.FS(), Version: w.Version, Formats: rundir.Formats(root.FS()), Signers: allowed})
	if since, ok := v.Since(); ok {
		for i, repo := range repos {
			v.Compare(commitsOf(ctx, given.Repos[i], repo, since, v.Commits()))
		}
	}
	result := v.Result()
	if given.JSON {
		err = printable.WriteJSON(w.Out, result)
	} else {
		printVerified(w, result)
	}
	if err == nil && len(result.Problems) > 0 {
		err = fault.Silent(event.ExitFailed)
	}
	return err
}

// printVerified prints problems first.
func printVerified(w world.World, r verification.Result) {
	line := func(kind, text string) { fmt.Fprintf(w.Out, "%-9s %s\n", kind, printable.Text(text)) }
	for _, p := range r.Problems {
		line("FAILED", p.Error())
	}
	for _, text := range r.Verified {
		line("verified", text)
	}
	for _, text := range r.Notes {
		line("note", text)
	}
}

// allowedSigners reads a file of allowed signers; nil without one, which allows every key.
func allowedSigners(file string) (*signing.AllowedSigners, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err == nil {
		var allowed *signing.AllowedSigners
		if allowed, err = signing.ParseAllowedSigners(text); err == nil {
			return allowed, nil
		}
	}
	return nil, fmt.Errorf("--allowed-signers %s: %w", file, err)
}

// commitsOf reads the commits of a repository since a time, and which ones of a run it has.
func commitsOf(ctx context.Context, name string, repo *gitops.Repo, since time.Time, run []string) verification.Repo {
	r := verification.Repo{Name: name, Has: map[string]bool{}}
	for _, commit := range run {
		_, err := repo.Message(commit)
		r.Has[commit] = err == nil
	}
	r.Messages, r.Err = gitops.Since(ctx, repo, since)
	return r
}

// openOrFetch opens a repository, or fetches it into the mirror that runs use, too.
func openOrFetch(ctx context.Context, w world.World, name string) (*gitops.Repo, error) {
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		git, err := gitdir.OpenAt(name, w.GitEnv()) // bare or not
		if errors.Is(err, gitdir.ErrNotRepository) {
			return gitops.Open(name, w.GitEnv())
		}
		if err != nil {
			return nil, err
		}
		return gitops.New(git), nil
	}
	if _, err := remote.ParseAddress(name); err != nil {
		return nil, err
	}
	known := w.Redactor(&tasks.Plan{})
	hosts := forges.Hosts(w, &tasks.Plan{}, known.Hold)
	auth, err := hosts.ForRemotes([]string{name})
	if err != nil {
		return nil, err
	}
	at := remote.Repo{URL: name, Auth: auth(name), Proxy: w.Proxy}
	dir := filepath.Join(w.Mirrors(), "verify-"+rundir.OutputsOf(name))
	git, err := remote.Mirror(ctx, dir, at, remote.MirrorOptions{}, w.GitEnv())
	if err != nil {
		return nil, err
	}
	return gitops.New(git), nil
}
