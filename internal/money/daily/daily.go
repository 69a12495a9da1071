// Package daily keeps the budget of a day, which all runs of a user share: what each of them may spend and has
// spent is in a file of its own. It is what a policy's budget.day needs beyond the budgets of one process. It
// knows neither policies nor plans, and no runs of other machines.
package daily

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/filelock"
	"github.com/millhand/millhand/internal/money"
)

// Reservation is the money of a day's budget that is reserved for one run. Its file
// is locked while the run is in progress; the kernel releases the lock however the
// run ends.
type Reservation struct {
	Limit money.USD // the most that the run may spend

	file  *os.File
	spent money.USD
	err   error // the first of Record
}

// record is the content of a reservation's file.
type record struct {
	Spent    money.USD `json:"spent_usd"`    // with the most that requests in flight can cost
	Reserved money.USD `json:"reserved_usd"` // the limit of the run
}

// Exceeded is the error of a day whose budget has no money left.
type Exceeded struct {
	Limit, Used money.USD // Used includes what runs in progress have reserved
}

func (e *Exceeded) Error() string {
	return fmt.Sprintf("daily budget exceeded: $%s of $%s spent or reserved by runs in progress", e.Used, e.Limit)
}

// Reserve reserves for a run what remains of the limit of a day, and no more than
// most unless that is 0. dir has a directory for each day. The error is an
// [*Exceeded] if nothing remains.
func Reserve(ctx context.Context, dir string, day time.Time, run string, limit, most money.USD) (r *Reservation, err error) {
	dir = filepath.Join(dir, day.UTC().Format(time.DateOnly))
	made, err := files.MakeOwn(dir, 0o700)
	if err != nil {
		return nil, err
	}
	made.Close()
	err = filelock.AfterOrphans(ctx, func(last bool) (done bool, err error) {
		r, done, err = reserve(ctx, dir, run, limit, most, last)
		return done, err
	})
	return r, err
}

// reserve is one look of Reserve. Unless it is the last, it leaves the money as it is if a run in progress has reserved what this run
// would get.
func reserve(ctx context.Context, dir, run string, limit, most money.USD, last bool) (r *Reservation, done bool, err error) {
	lock, err := files.OpenRegular(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	defer lock.Close()
	if err := filelock.Wait(ctx, lock, filelock.Exclusive); err != nil {
		return nil, false, err
	}
	used, running, err := used(dir)
	if err != nil {
		return nil, false, err
	}
	r = &Reservation{Limit: limit.Sub(used)}
	if short := most == 0 || r.Limit < most; short && running && !last {
		return nil, false, nil
	}
	if r.Limit <= 0 {
		return nil, false, &Exceeded{Limit: limit, Used: used}
	}
	if most > 0 {
		r.Limit = min(r.Limit, most)
	}
	r.file, err = files.OpenRegular(filepath.Join(dir, run+".json"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, false, err
	}
	if err := errors.Join(filelock.Wait(ctx, r.file, filelock.Exclusive), r.write()); err != nil {
		r.file.Close()
		return nil, false, err
	}
	return r, true, nil
}

// used is the sum of a day's files: what runs in progress have reserved, and what
// others have spent. running reports whether there are runs in progress.
func used(dir string) (total money.USD, running bool, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, false, err
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" {
			continue
		}
		r, held, err := read(filepath.Join(dir, f.Name()))
		if err != nil {
			return 0, false, fmt.Errorf("%w; remove the file if its run cost nothing", err)
		}
		if held {
			r.Spent, running = max(r.Spent, r.Reserved), true
		}
		total = total.Add(r.Spent)
	}
	return total, running, nil
}

func read(name string) (r record, running bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return r, false, err
	}
	defer f.Close()
	running = filelock.Try(f, filelock.Shared) != nil
	data := make([]byte, recordSize)
	n, err := f.ReadAt(data, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return r, running, nil // killed before it could spend anything
	case n < recordSize:
		return r, running, fmt.Errorf("%s: %w", name, errors.Join(errors.New("truncated"), err))
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Spent < 0 || r.Reserved < 0 {
		return r, running, fmt.Errorf("%s: invalid record of a run's cost", name)
	}
	return r, running, nil
}

// recordSize is the size of a reservation's file in bytes: always the same, so
// that one write replaces all of it.
const recordSize = 128

func (r *Reservation) write() error {
	data, err := json.Marshal(record{Spent: r.spent, Reserved: r.Limit})
	if err != nil {
		return err
	}
	if len(data) < recordSize {
		data = append(data, strings.Repeat(" ", recordSize-len(data))...)
	}
	_, err = r.file.WriteAt(data, 0)
	return err
}

// Record records what the run has spent so far, with the most that its requests in
// flight can cost. It must not be called concurrently.
func (r *Reservation) Record(spent money.USD) {
	r.spent = spent
	if err := r.write(); err != nil && r.err == nil {
		r.err = fmt.Errorf("record what the run cost in %s: %w", r.file.Name(), err)
	}
}

// Close releases what the run has not spent. Its error is the first of Record.
func (r *Reservation) Close() error { return errors.Join(r.err, r.file.Close()) }
