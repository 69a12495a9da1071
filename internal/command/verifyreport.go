package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/runs"
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

type verifyReportOptions struct {
	dir     string
	repos   []string // paths and URLs
	signers string   // "" for none
	json    bool
}

func verifyReportCommand(w world.World) *cli.Command {
	o := &verifyReportOptions{}
	return &cli.Command{
		Name: "verify-report", Usage: "Verify the evidence of a run: its events, files, commits and signature", ArgsUsage: "DIR",
		UsageText: "millhand verify-report out --repo . --allowed-signers .github/allowed_signers",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "repo", Value: (*option.Texts)(&o.repos), EnvVars: noVariable(), Usage: "Compare the commits with those of `REPO`, a path or a URL (repeatable)"},
			&cli.StringFlag{Name: "allowed-signers", Destination: &o.signers, Usage: "Require a signature by a key in `FILE`, which has the format of ssh-keygen's allowed signers"},
			jsonFlag(&o.json, "Print one JSON document"),
		},
		Action: act(o.parse, func(ctx context.Context) error { return verifyReport(ctx, w, *o) }),
	}
}

func (o *verifyReportOptions) parse(args []string) error {
	if len(args) != 1 {
		return errors.New("missing DIR argument: the report directory of a run")
	}
	o.dir = args[0]
	return nil
}

// verifyReport verifies a report directory. Nothing is written there.
func verifyReport(ctx context.Context, w world.World, given verifyReportOptions) error {
	root, err := os.OpenRoot(given.dir)
	if err != nil {
		return fault.New(event.ExitUsage, "open the report directory: %w", err)
	}
	defer root.Close()
	o := evidence.Options{Files: root.FS(), Version: w.Version, Formats: rundir.Formats(root.FS()), MustSign: given.signers != ""}
	if o.Signer, err = signerOf(given.signers); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	o.Envelope = func(envelope, message, signature []byte) error {
		return signing.VerifyEnvelope(envelope, evidence.PayloadType, message, signature)
	}
	for _, name := range given.repos {
		repo, err := evidenceRepo(ctx, w, name)
		if err != nil {
			return fault.New(event.ExitUsage, "--repo %s: %w", name, err)
		}
		o.Repos = append(o.Repos, repo)
	}
	result := evidence.Verify(o)
	if given.json {
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
func printVerified(w world.World, r evidence.Result) {
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
func evidenceRepo(ctx context.Context, w world.World, name string) (evidence.Repo, error) {
	repo, err := openOrFetch(ctx, w, name)
	if err != nil {
		return evidence.Repo{}, err
	}
	return evidence.Repo{
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
	dir := filepath.Join(w.Mirrors(), "verify-"+runs.OutputsOf(name))
	git, err := remote.Mirror(ctx, dir, at, remote.MirrorOptions{}, w.GitEnv())
	if err != nil {
		return nil, err
	}
	return gitops.New(git), nil
}
