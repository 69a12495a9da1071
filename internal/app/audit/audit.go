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
	"github.com/millhand/millhand/report/evidence"
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
	o := verification.Options{Files: root.FS(), Version: w.Version, Formats: rundir.Formats(root.FS()), MustSign: given.Signers != ""}
	if o.Signer, err = signerOf(given.Signers); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	o.Envelope = func(envelope, message, signature []byte) error {
		return signing.VerifyEnvelope(envelope, evidence.PayloadType, message, signature)
	}
	for _, name := range given.Repos {
		repo, err := evidenceRepo(ctx, w, name)
		if err != nil {
			return fault.New(event.ExitUsage, "--repo %s: %w", name, err)
		}
		o.Repos = append(o.Repos, repo)
	}
	result := verification.Verify(o)
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

// signerOf returns the check of signatures with a file of allowed signers; "" allows every key.
func signerOf(file string) (func(message, signature []byte, at time.Time) (string, error), error) {
	var allowed *signing.AllowedSigners
	if file != "" {
		text, err := os.ReadFile(file)
		if err == nil {
			allowed, err = signing.ParseAllowedSigners(text)
		}
		if err != nil {
			return nil, fmt.Errorf("--allowed-signers %s: %w", file, err)
		}
	}
	return func(message, signature []byte, at time.Time) (string, error) {
		who, err := signing.VerifySSH(evidence.Namespace, message, signature, allowed, at)
		if who.Principal == "" {
			return "the key " + who.Key, err
		}
		return who.Principal + ", with the key " + who.Key, err
	}, nil
}

// evidenceRepo opens a repository, or fetches it into the mirror that runs use, too.
func evidenceRepo(ctx context.Context, w world.World, name string) (verification.Repo, error) {
	repo, err := openOrFetch(ctx, w, name)
	if err != nil {
		return verification.Repo{}, err
	}
	return verification.Repo{
		Name:  name,
		Has:   func(commit string) bool { _, err := repo.Message(commit); return err == nil },
		Since: func(t time.Time) (map[string]string, error) { return gitops.Since(ctx, repo, t) },
	}, nil
}

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
