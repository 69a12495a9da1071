package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// Load reads manifests and returns the plan that they and the command line
// make together. Its error is a [Problems] with every mistake in all of the
// files, or else that of reading standard input or of ctx.
// What it returns beside an error is nil.
//
// With several manifests the strictest wins: the smallest number of concurrent
// jobs and the smallest budget that any of them states, and allow_dirty and
// allow_unknown_price only if all of them do. Of clones the largest number holds.
func Load(ctx context.Context, paths []string, o Options) (*Plan, error) {
	return under(ctx, strings.Join(paths, ", "), func() (*Plan, error) { return load(ctx, paths, o) })
}

// under loads something, and returns an error that names it if ctx ends before, whatever
// loading waits for. It has no effects, and everything that it computes is limited.
func under[T any](ctx context.Context, name string, load func() (T, error)) (T, error) {
	loaded, err := abandon.When(ctx, load)
	if err != nil && ctx.Err() != nil {
		return loaded, fmt.Errorf("load %s: %w", name, context.Cause(ctx))
	}
	return loaded, err
}

func load(ctx context.Context, paths []string, o Options) (*Plan, error) {
	l := newLoader(ctx, o)
	if slices.Contains(paths, "-") {
		l.inputs.Taken = "a manifest"
	}
	var manifests []*manifest
	for _, path := range paths {
		m, err := l.manifest(ctx, path)
		if err != nil {
			return nil, err
		}
		if m != nil {
			manifests = append(manifests, m)
		}
	}
	if len(paths) == 0 {
		l.found.Add(problem.Problem{File: "millhand", What: "no manifest is named", Fix: "name at least one file"})
	}
	b := &builder{defaults: form.WithDefaults((*manifest).keys), loader: l, manifests: manifests, complete: len(manifests) == len(paths)}
	plan, err := b.plan(ctx, paths)
	if err != nil {
		return nil, err
	}
	if err := l.found.Err(); err != nil {
		return nil, err
	}
	if run := l.run; run.used && run.id != anyRun {
		err = hashForAnyRun(plan, ctx, paths, o)
	}
	return plan, err
}

// loader reads files and gathers what is wrong with them.
type loader struct {
	options Options
	event   *event // for ${{ event.PATH }}
	found   *problem.Collector
	inputs  *form.Inputs
	run     *runNames
	lists   *lists
	read    []string // manifests so far, absolute
	sums    []string // their SHA-256, in hexadecimal
	names   vocabulary
}

// newLoader returns a loader, which loads until ctx ends.
func newLoader(ctx context.Context, o Options) *loader {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	used := form.NewUses()
	used.Home, used.Root = o.Getenv("HOME"), o.Root
	of := eventOf(o, used)
	o.Getenv = used.Recording(o.Getenv)
	return &loader{options: o, event: of, found: problem.NewCollector(), inputs: &form.Inputs{Ctx: ctx, Stdin: o.Stdin, Uses: used}, run: &runNames{id: cmp.Or(o.RunID, anyRun)}, lists: &lists{given: o.Lists}}
}

func (l *loader) source(name, dir string) *form.Source {
	return &form.Source{
		File: problem.File{Name: name, Found: l.found}, Dir: dir, Home: l.inputs.Uses.Home, Inputs: l.inputs, Policies: l.options.Policies.Own(),
	}
}

// manifest reads one manifest, as it was named on the command line; nil
// without an error after a problem with the file itself.
func (l *loader) manifest(ctx context.Context, path string) (*manifest, error) {
	root, ok, err := l.document(ctx, path)
	if !ok || err != nil {
		return nil, err
	}
	m := readManifest(root, l.lists)
	l.names.add(m)
	return m, nil
}

// document parses one manifest; false without an error after a problem with the file
// itself.
func (l *loader) document(ctx context.Context, path string) (root form.Value, ok bool, err error) {
	abs, dir := path, l.options.Dir
	if path != "-" {
		abs = form.ResolvePath(l.options.Dir, path)
	}
	if form.IsFile(abs) { // a pipe has no useful directory
		dir = filepath.Dir(abs)
	}
	src := l.source(path, dir)
	top := topOf(form.RealDir(dir))
	if l.options.Root != "" { // a worker has the inputs of the run, without their repository
		top = form.RealDir(l.options.Root)
	}
	src.Policies = l.options.Policies.InRepository(top)
	if path != "-" && l.refusedManifest(path, abs, top) {
		return form.Value{}, false, nil
	}
	if slices.Contains(l.read, abs) {
		l.found.Add(problem.Problem{File: path, What: "the manifest is named twice", Fix: "name it once"})
		return form.Value{}, false, nil
	}
	l.read = append(l.read, abs)
	if form.IsFile(abs) {
		l.inputs.Uses.Reads(abs)
	} else {
		l.inputs.Uses.Fixed = append(l.inputs.Uses.Fixed, problem.Problem{File: path, What: "the manifest is not a regular file, and workers read it again", Fix: "write it to a file"})
	}
	data, err := l.bytes(ctx, path, abs)
	switch {
	case ctx.Err() != nil:
		return form.Value{}, false, fmt.Errorf("read manifest %s: %w", path, context.Cause(ctx))
	case err != nil && path == "-":
		return form.Value{}, false, fmt.Errorf("read manifest from standard input: %w", err)
	case err != nil:
		src.Unreadable(err)
		return form.Value{}, false, nil
	}
	sum := sha256.Sum256(data)
	l.sums = append(l.sums, hex.EncodeToString(sum[:]))
	root, ok = src.Parse(data)
	return root, ok, nil
}

// refusedManifest reports whether a policy refuses a manifest for where it is, and
// records it. One that is not trusted may not be a symlink to a file of somebody
// else's: what is wrong with that would be told.
func (l *loader) refusedManifest(path, abs, top string) bool {
	if !form.IsFile(abs) { // a pipe is the operator's own
		return false
	}
	policies := l.options.Policies.InRepository(cmp.Or(top, form.RealDir(filepath.Dir(abs))))
	by, refused := form.RefusesPath(policies, abs)
	if refused {
		what, fix := form.Refusal("the manifest's path", by)
		l.found.Add(problem.Problem{File: path, What: what, Fix: fix})
	}
	return refused
}

func (l *loader) bytes(ctx context.Context, path, abs string) ([]byte, error) {
	if path != "-" {
		return form.ReadFile(ctx, abs)
	}
	if l.options.Stdin == nil {
		return nil, os.ErrClosed
	}
	return l.options.Stdin()
}
