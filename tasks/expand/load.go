package expand

import (
	"context"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// Load reads manifests and returns the plan that they and the command line
// make together. Its error is a [problem.List] with every mistake in all of the
// files, or else that of reading standard input or of ctx.
// What it returns beside an error is nil.
//
// With several manifests the strictest wins: the smallest number of concurrent
// jobs and the smallest budget that any of them states, and allow_dirty and
// allow_unknown_price only if all of them do. Of clones the largest number holds.
func Load(ctx context.Context, paths []string, o tasks.Options) (*tasks.Plan, error) {
	return manifest.Under(ctx, strings.Join(paths, ", "), func() (*tasks.Plan, error) { return load(ctx, paths, o) })
}

func load(ctx context.Context, paths []string, o tasks.Options) (*tasks.Plan, error) {
	l := manifest.NewLoader(ctx, o)
	if slices.Contains(paths, "-") {
		l.Inputs.Taken = "a manifest"
	}
	var manifests []*manifest.Manifest
	for _, path := range paths {
		m, err := l.Manifest(ctx, path)
		if err != nil {
			return nil, err
		}
		if m != nil {
			manifests = append(manifests, m)
		}
	}
	if len(paths) == 0 {
		l.Found.Add(problem.Problem{File: "millhand", What: "no manifest is named", Fix: "name at least one file"})
	}
	b := newBuilder(&loaded{l, manifests, len(manifests) == len(paths)})
	plan, err := b.plan(ctx, paths)
	if err != nil {
		return nil, err
	}
	if err := l.Found.Err(); err != nil {
		return nil, err
	}
	if run := l.Run; run.Used && run.ID != template.AnyRun {
		err = hashForAnyRun(plan, ctx, paths, o)
	}
	return plan, err
}

// hashForAnyRun gives a plan that names its run, and its jobs, the hashes that they have in every run.
func hashForAnyRun(p *tasks.Plan, ctx context.Context, paths []string, o tasks.Options) error {
	o.RunID = template.AnyRun
	same, err := load(ctx, paths, o)
	if err != nil {
		return err
	}
	p.Hash = same.Hash
	for i := range p.Jobs {
		p.Jobs[i].Hash = same.Jobs[i].Hash
	}
	return nil
}
