package manifest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// Under loads something, and returns an error that names it if ctx ends before, whatever
// loading waits for. It has no effects, and everything that it computes is limited.
func Under[T any](ctx context.Context, name string, load func() (T, error)) (T, error) {
	loaded, err := abandon.When(ctx, load)
	if err != nil && ctx.Err() != nil {
		return loaded, fmt.Errorf("load %s: %w", name, context.Cause(ctx))
	}
	return loaded, err
}

// Loader reads files and gathers what is wrong with them.
type Loader struct {
	Options tasks.Options
	Event   *template.Event // for ${{ event.PATH }}
	Found   *problem.Collector
	Inputs  *form.Inputs
	Run     *template.RunNames
	Lists   *repolist.Lists
	read    []string // manifests so far, absolute
	Sums    []string // their SHA-256, in hexadecimal
	Names   profiles.Vocabulary
}

// NewLoader returns a loader, which loads until ctx ends.
func NewLoader(ctx context.Context, o tasks.Options) *Loader {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	used := form.NewUses()
	used.Home, used.Root = o.Getenv("HOME"), o.Root
	of := template.EventOf(o, used)
	o.Getenv = used.Recording(o.Getenv)
	return &Loader{
		Options: o, Event: of, Found: problem.NewCollector(), Inputs: &form.Inputs{Ctx: ctx, Stdin: o.Stdin, Uses: used},
		Run: &template.RunNames{ID: cmp.Or(o.RunID, template.AnyRun)}, Lists: &repolist.Lists{Given: o.Lists},
	}
}

func (l *Loader) source(name, dir string) *form.Source {
	return &form.Source{
		File: problem.File{Name: name, Found: l.Found}, Dir: dir, Home: l.Inputs.Uses.Home, Inputs: l.Inputs, Policies: l.Options.Policies.Own(),
	}
}

// Manifest reads one manifest, as it was named on the command line; nil
// without an error after a problem with the file itself.
func (l *Loader) Manifest(ctx context.Context, path string) (*Manifest, error) {
	root, ok, err := l.document(ctx, path)
	if !ok || err != nil {
		return nil, err
	}
	m := readManifest(root, l.Lists)
	m.addTo(&l.Names)
	return m, nil
}

// document parses one manifest; false without an error after a problem with the file
// itself.
func (l *Loader) document(ctx context.Context, path string) (root form.Value, ok bool, err error) {
	abs, dir := path, l.Options.Dir
	if path != "-" {
		abs = userfile.Resolve(l.Options.Dir, path)
	}
	if userfile.IsFile(abs) { // a pipe has no useful directory
		dir = filepath.Dir(abs)
	}
	src := l.source(path, dir)
	top := tasks.TopOf(userfile.Real(dir))
	if l.Options.Root != "" { // a worker has the inputs of the run, without their repository
		top = userfile.Real(l.Options.Root)
	}
	src.Policies = l.Options.Policies.InRepository(top)
	if path != "-" && l.refusedManifest(path, abs, top) {
		return form.Value{}, false, nil
	}
	if slices.Contains(l.read, abs) {
		l.Found.Add(problem.Problem{File: path, What: "the manifest is named twice", Fix: "name it once"})
		return form.Value{}, false, nil
	}
	l.read = append(l.read, abs)
	if userfile.IsFile(abs) {
		l.Inputs.Uses.Reads(abs)
	} else {
		l.Inputs.Uses.Fixed = append(l.Inputs.Uses.Fixed, problem.Problem{File: path, What: "the manifest is not a regular file, and workers read it again", Fix: "write it to a file"})
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
	l.Sums = append(l.Sums, hex.EncodeToString(sum[:]))
	root, ok = src.Parse(data)
	return root, ok, nil
}

// refusedManifest reports whether a policy refuses a manifest for where it is, and
// records it. One that is not trusted may not be a symlink to a file of somebody
// else's: what is wrong with that would be told.
func (l *Loader) refusedManifest(path, abs, top string) bool {
	if !userfile.IsFile(abs) { // a pipe is the operator's own
		return false
	}
	policies := l.Options.Policies.InRepository(cmp.Or(top, userfile.Real(filepath.Dir(abs))))
	by, refused := form.RefusesPath(policies, abs)
	if refused {
		what, fix := form.Refusal("the manifest's path", by)
		l.Found.Add(problem.Problem{File: path, What: what, Fix: fix})
	}
	return refused
}

func (l *Loader) bytes(ctx context.Context, path, abs string) ([]byte, error) {
	if path != "-" {
		return userfile.Read(ctx, abs, form.MaxFile)
	}
	if l.Options.Stdin == nil {
		return nil, os.ErrClosed
	}
	return l.Options.Stdin()
}
