package repos

import (
	"context"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// Key opens the key for the commits and the evidence of a plan before anything is
// sent; nil if none is signed.
func Key(ctx context.Context, w world.World, plan *tasks.Plan) (*signing.Key, error) {
	var formats []tasks.Sign
	for _, j := range plan.Jobs {
		if c := j.Commit; c.Signed() && j.Publish != tasks.PublishPatch && j.Skip == "" && !slices.Contains(formats, c.Sign) {
			formats = append(formats, c.Sign)
		}
	}
	what := "commit.sign"
	if plan.Evidence.Signed() && !slices.Contains(formats, tasks.SignSSH) {
		if what = "evidence.sign"; len(formats) > 0 {
			return nil, fault.New(event.ExitUsage, "evidence.sign: ssh can't be combined with commit.sign: %s, because both use the key in %s", formats[0], signing.KeyVariable)
		}
		formats = append(formats, tasks.SignSSH)
	}
	switch len(formats) {
	case 0:
		return nil, nil //nolint:nilnil // no key is needed
	case 1:
	default:
		return nil, fault.New(event.ExitUsage, "commit.sign: the tasks of a run must use the same format, not %s and %s: run them separately", formats[0], formats[1])
	}
	key, err := signing.Open(ctx, signing.Format(formats[0]), w.Getenv, w.Now)
	if err != nil {
		return nil, fault.New(event.ExitAuth, "%s: %w; nothing was run", what, err)
	}
	return key, nil
}

// Signing returns how commits are signed by a key, which may be nil.
func Signing(w world.World, key *signing.Key) preflight.Signing {
	if key == nil {
		return preflight.Signing{}
	}
	return preflight.Signing{
		Sign: key.Sign, KeyFile: key.File(),
		Committer: gitops.Signature{Name: w.Getenv("GIT_COMMITTER_NAME"), Email: w.Getenv("GIT_COMMITTER_EMAIL")},
	}
}
