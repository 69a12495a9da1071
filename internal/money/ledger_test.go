package money

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// book is the ledger of some processes, in memory.
type book struct {
	mu      sync.Mutex
	sums    map[string]Sums
	gone    map[string]bool
	changed map[string]chan struct{} // by process; closed and replaced
	most    USD                      // spent and reserved at any moment
}

func newBook() *book {
	return &book{sums: map[string]Sums{}, gone: map[string]bool{}, changed: map[string]chan struct{}{}}
}

// set changes the sums of a process. The lock is held.
func (b *book) set(name string, own Sums) {
	b.sums[name] = own
	b.most = max(b.most, b.without("").Money())
	for of, c := range b.changed {
		if of != name {
			close(c)
			delete(b.changed, of)
		}
	}
}

// without returns the sums of all processes except one. The lock is held.
func (b *book) without(name string) (sums Sums) {
	for of, s := range b.sums {
		if b.gone[of] {
			s.Requests = 0
		}
		if of != name {
			sums = sums.Plus(s)
		}
	}
	return sums
}

func (b *book) all() Sums {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.without("")
}

var (
	errGone    = errors.New("the process was found to have disappeared")
	errDropped = errors.New("connection dropped")
)

// process is the ledger of one process.
type process struct {
	*book
	name string
	// before is called before each call, with its name; after, after the change that it made. An
	// error is that of the call. Either may be nil. They are guarded by the book's lock.
	before, after func(ctx context.Context, call string) error
}

// hook replaces what is called before and after each call.
func (p *process) hook(before, after func(ctx context.Context, call string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.after = before, after
}

func (p *process) call(ctx context.Context, name string, change func() bool) (ok bool, err error) {
	p.mu.Lock()
	before, after := p.before, p.after
	p.mu.Unlock()
	if before != nil {
		if err := before(ctx, name); err != nil {
			return false, err
		}
	}
	p.mu.Lock()
	if p.gone[p.name] {
		p.mu.Unlock()
		return false, errGone
	}
	ok = change()
	p.mu.Unlock()
	if after != nil {
		err = after(ctx, name)
	}
	return ok && err == nil, err
}

func (p *process) Others(ctx context.Context) (sums Sums, err error) {
	_, err = p.call(ctx, "others", func() bool {
		sums = p.without(p.name)
		return true
	})
	return sums, err
}

func (p *process) Reserve(ctx context.Context, own Sums, limit USD) (bool, error) {
	return p.call(ctx, "reserve", func() bool {
		if own.Plus(p.without(p.name)).Money() > limit {
			return false
		}
		p.set(p.name, own)
		return true
	})
}

func (p *process) Settle(ctx context.Context, own Sums) error {
	_, err := p.call(ctx, "settle", func() bool {
		p.set(p.name, own)
		return true
	})
	if errors.Is(err, errDropped) && ctx.Err() == nil {
		return p.Settle(ctx, own)
	}
	return err
}

func (p *process) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed[p.name] == nil {
		p.changed[p.name] = make(chan struct{})
	}
	return p.changed[p.name]
}

// open returns the budget of a process that shares a book, and what ends it.
func (b *book) open(t *testing.T, name string, limit float64) (run *Budget, p *process, end func()) {
	t.Helper()
	run, p = NewBudget("run budget", dollars(limit), nil), &process{book: b, name: name}
	settled := run.Share(t.Context(), p)
	end = sync.OnceFunc(func() {
		if err := settled(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, errGone) {
			t.Errorf("%s: %v", name, err)
		}
	})
	t.Cleanup(end)
	return run, p, end
}

// output prices only output, at $10 for a million tokens.
var output = perToken(0, 1e-5)

func reserve(t *testing.T, b *Budget, tokens int64) *Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), Usage{Output: tokens}, Usage{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARequestWaitsForOtherProcesses(t *testing.T) {
	shared := newBook()
	a, _, _ := shared.open(t, "a", 0.05)
	b, _, _ := shared.open(t, "b", 0.05)
	held := reserve(t, a.Session("m", output), 4000)
	session := b.Session("m", output)
	_, freed, changed, err := session.tryShared(t.Context(), Usage{Output: 4000}, Usage{})
	if freed == nil || err != nil {
		t.Fatalf("it did not wait: %v", err)
	}
	settle(held, new(dollars(0.001)))
	<-changed
	settle(reserve(t, session, 4000), new(dollars(0.002)))
}
