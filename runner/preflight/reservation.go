package preflight

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/filelock"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// reservations are the branches that runs in progress are going to create: a directory
// with a file for each run, named after it, which holds a digest of each branch. A file
// is locked while its run is in progress; the kernel releases the lock however the run
// ends.
type reservations struct {
	dir  string
	lock *os.File          // held while the others can't change
	runs map[string]string // by digest: the run that reserved it
}

// openReservations locks the directory and reads it. Files of runs that were killed are
// removed.
func openReservations(ctx context.Context, dir string) (*reservations, error) {
	made, err := files.MakeOwn(dir, 0o700)
	if err != nil {
		return nil, err
	}
	made.Close()
	lock, err := files.OpenRegular(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r := &reservations{dir: dir, lock: lock, runs: map[string]string{}}
	if err = filelock.Wait(ctx, lock, filelock.Exclusive); err == nil {
		err = r.read()
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return r, nil
}

func (r *reservations) close() { r.lock.Close() }

// openFor opens the reservations when none of the wanted branches is reserved by a run that was killed just now.
func openFor(ctx context.Context, dir string, wanted map[string]string) (r *reservations, err error) {
	reserved := func(branch string) bool { return r.runs[branch] != "" }
	err = filelock.AfterOrphans(ctx, func(last bool) (bool, error) {
		if r, err = openReservations(ctx, dir); err != nil {
			return true, err
		}
		if !last && slices.ContainsFunc(slices.Collect(maps.Values(wanted)), reserved) {
			r.close()
			return false, nil
		}
		return true, nil
	})
	return r, err
}

func (r *reservations) read() error {
	files, err := filepath.Glob(filepath.Join(r.dir, "*.branches"))
	if err != nil {
		return err
	}
	for _, name := range files {
		err := r.readRun(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a run that has ended removes its file
			return err
		}
	}
	return nil
}

// readRun reads the file of one run.
func (r *reservations) readRun(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = filelock.Try(f, filelock.Shared)
	if err == nil {
		return os.Remove(name)
	}
	if !errors.Is(err, filelock.ErrHeld) {
		return err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	for digest := range bytes.Lines(data) {
		r.runs[string(bytes.TrimSpace(digest))] = strings.TrimSuffix(filepath.Base(name), ".branches")
	}
	return nil
}

// add reserves branches for a run, until the file is closed.
func (r *reservations) add(ctx context.Context, run string, digests []string) (*os.File, error) {
	f, err := files.OpenRegular(filepath.Join(r.dir, run+".branches"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Wait(ctx, f, filelock.Exclusive)
	if err == nil {
		_, err = f.WriteString(strings.Join(digests, "\n"))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return f, nil
}

// reserve reserves the branches of all jobs that run, and refuses or skips jobs whose
// branch another run in progress has reserved: only one of them could create it. If
// branches can't be reserved, it only warns.
func (p *checker) reserve(ctx context.Context, ready *Result) (refused []error) {
	if p.Reserve == "" {
		return nil
	}
	wanted := map[string]string{}
	for _, j := range p.plan.Jobs {
		if s := ready.Starts[j.ID]; s.branch != "" && s.Skip == nil {
			wanted[j.ID] = digest(s.branch)
		}
	}
	r, err := openFor(ctx, p.Reserve, wanted)
	if err != nil {
		p.warn(unreserved(err))
		return nil
	}
	defer r.close()
	var digests []string
	for _, j := range p.plan.Jobs {
		branch, ok := wanted[j.ID]
		if !ok {
			continue
		}
		other := r.runs[branch]
		what := fmt.Sprintf("branch %s is reserved by run %s, which is in progress", j.Commit.Branch, other)
		switch {
		case other == "":
			digests = append(digests, branch)
		case j.Commit.IfExists == tasks.SkipIfExists:
			s := ready.Starts[j.ID]
			s.Skip = &ending.Stop{Code: event.CodeBranchExists, Detail: what}
			ready.Starts[j.ID] = s
		default:
			refused = append(refused, &Refusal{Job: j.ID, Code: event.CodeBranchExists, Err: fmt.Errorf("%s: wait for it, choose another commit.branch, or set commit.if_exists: skip", what)})
		}
	}
	if len(refused) == 0 && len(digests) > 0 {
		if ready.reserved, err = r.add(ctx, p.Run, digests); err != nil {
			p.warn(unreserved(err))
		}
	}
	return refused
}

// Close releases the branches that the preflight reserved.
func (r *Result) Close() {
	if r != nil && r.reserved != nil {
		os.Remove(r.reserved.Name())
		r.reserved.Close()
	}
}

// unreserved returns the warning of branches that could not be reserved.
func unreserved(err error) string {
	return fmt.Sprintf("branches are not reserved, so another run can create them first: %v", err)
}

// Warnings returns what the run should warn of when it starts.
func (r *Result) Warnings() []string { return r.warnings }

// digest returns the hexadecimal SHA-256 of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
