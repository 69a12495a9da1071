// Package spend keeps what the runs of one day have cost together, in files that
// all processes of a user share, so that a policy's budget.day holds over runs. It
// counts money and knows nothing of what it was paid for.
package spend

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

	"github.com/millhand/millhand/internal/filelock"
	"github.com/millhand/millhand/internal/money"
)

// Account is one run's share of a day. Its file is locked for as long as the run
// is going on; the kernel releases the lock however the run ends.
type Account struct {
	file *os.File
	row  row
	err  error
}

// row is what the file of an account says.
type row struct {
	Spent    money.USD `json:"spent_usd"`    // with what calls in flight can cost at most
	Reserved money.USD `json:"reserved_usd"` // the most that the run may spend
}

// Spent is the error of a day whose money is gone.
type Spent struct {
	Cap, Used money.USD // Used includes what runs in progress have reserved
}

func (s *Spent) Error() string {
	return fmt.Sprintf("$%s of $%s are spent today, or reserved by runs in progress", s.Used, s.Cap)
}

// Open takes money of a day for a run: as much as is left of the cap, and no more
// than most, if that isn't 0. dir holds the days, one directory each. The error is
// a [*Spent] if nothing is left.
func Open(ctx context.Context, dir string, day time.Time, run string, limit, most money.USD) (a *Account, granted money.USD, err error) {
	dir = filepath.Join(dir, day.UTC().Format(time.DateOnly))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, fmt.Errorf("keep what the day's runs cost: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("keep what the day's runs cost: %w", err)
	}
	defer lock.Close()
	if err := filelock.Wait(ctx, lock, filelock.Exclusive); err != nil {
		return nil, 0, fmt.Errorf("reserve the day's budget: %w", err)
	}
	used, err := used(dir)
	if err != nil {
		return nil, 0, err
	}
	granted = limit.Sub(used)
	if granted <= 0 {
		return nil, 0, &Spent{Cap: limit, Used: used}
	}
	if most > 0 {
		granted = min(granted, most)
	}
	f, err := os.OpenFile(filepath.Join(dir, run+".json"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("keep what the day's runs cost: %w", err)
	}
	a = &Account{file: f, row: row{Reserved: granted}}
	if err := errors.Join(filelock.Wait(ctx, f, filelock.Exclusive), a.write()); err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("keep what the day's runs cost: %w", err)
	}
	return a, granted, nil
}

// used adds up the accounts of a day: of runs in progress what they have reserved,
// of others what they have spent.
func used(dir string) (total money.USD, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("read what the day's runs cost: %w", err)
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" {
			continue
		}
		r, running, err := read(filepath.Join(dir, f.Name()))
		if err != nil {
			return 0, fmt.Errorf("read what the day's runs cost: %w; remove the file if its run cost nothing", err)
		}
		if running {
			r.Spent = max(r.Spent, r.Reserved)
		}
		total = total.Add(r.Spent)
	}
	return total, nil
}

func read(name string) (r row, running bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return r, false, err
	}
	defer f.Close()
	running = filelock.Try(f, filelock.Shared) != nil
	data := make([]byte, rowSize)
	n, err := f.ReadAt(data, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return r, running, nil // killed before it could spend anything
	case n < rowSize:
		return r, running, fmt.Errorf("%s: %w", name, errors.Join(errors.New("truncated"), err))
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Spent < 0 || r.Reserved < 0 {
		return r, running, fmt.Errorf("%s: not an account of a run", name)
	}
	return r, running, nil
}

// rowSize is the size of an account's file in bytes: always the same, so that one
// write replaces all of it.
const rowSize = 128

func (a *Account) write() error {
	data, err := json.Marshal(a.row)
	if err != nil {
		return err
	}
	if len(data) < rowSize {
		data = append(data, strings.Repeat(" ", rowSize-len(data))...)
	}
	_, err = a.file.WriteAt(data, 0)
	return err
}

// Set records what the run has spent so far, with what its calls in flight can
// cost at most. The caller makes no two calls at a time.
func (a *Account) Set(usd money.USD) {
	a.row.Spent = usd
	if err := a.write(); err != nil && a.err == nil {
		a.err = fmt.Errorf("record what the run cost in %s: %w", a.file.Name(), err)
	}
}

// Close releases what the run has not spent. Its error is the first that kept the
// cost from being recorded.
func (a *Account) Close() error { return errors.Join(a.err, a.file.Close()) }
