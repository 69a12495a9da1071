package money

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
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

func (b *book) of(name string) Sums {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sums[name]
}

// disappear makes the ledger find that a process has disappeared. It returns its sums.
func (b *book) disappear(name string) Sums {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone[name] = true
	b.set(name, b.sums[name])
	return b.sums[name]
}

// charge charges what a process that has disappeared has spent.
func (b *book) charge(name string, spent USD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(name, Sums{Spent: spent})
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
	run, p = NewBudget("run budget", dollars(limit), time.Now, nil), &process{book: b, name: name}
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

// Some processes spend as much and as fast as they can. Their ledger fails now and then, before
// or after an entry, and one of them may disappear.
func TestProcessesNeverExceedTheirLimit(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		shared, limit := newBook(), 0.01+rng.Float64()
		price := perToken(rng.Float64()/1e5, rng.Float64()/1e4)
		runs, ends := map[string]*Budget{}, []func(){}
		var group sync.WaitGroup
		for i, name := range []string{"a", "b", "c"} {
			run, p, end := shared.open(t, name, limit)
			if runs[name] = run; seed%2 == 0 {
				p.hook(failing(seed, uint64(i), 1), failing(seed, uint64(i), 2))
			}
			job := run.Child("job budget", dollars(rng.Float64()*0.5)+1)
			var sessions sync.WaitGroup
			for n := range uint64(4) {
				rng, s := rand.New(rand.NewPCG(seed, 10*uint64(i)+n+3)), job.Session("m", price)
				sessions.Go(func() { spend(t.Context(), s, rng, false) })
			}
			ends = append(ends, end)
			group.Go(func() {
				sessions.Wait()
				p.hook(nil, nil)
			})
		}
		if seed%3 == 0 {
			group.Go(func() { shared.disappear("a") })
		}
		group.Wait()
		for _, end := range ends {
			end()
		}
		checkBooks(t, seed, shared, runs, dollars(limit))
	}
}

// failing returns a function that returns an error now and then.
func failing(seed, process, number uint64) func(context.Context, string) error {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 100*process+number))
	return func(context.Context, string) error {
		mu.Lock()
		defer mu.Unlock()
		if rng.IntN(20) == 0 {
			return errDropped
		}
		return nil
	}
}

func checkBooks(t *testing.T, seed uint64, shared *book, runs map[string]*Budget, limit USD) {
	t.Helper()
	if shared.most > limit {
		t.Fatalf("seed %d: $%s of $%s spent and reserved", seed, shared.most, limit)
	}
	for name, run := range runs {
		sums := shared.sums[name]
		switch {
		case shared.gone[name]:
			if run.spent > sums.Money() {
				t.Fatalf("seed %d: %s spent $%s after it had disappeared with %+v", seed, name, run.spent, sums)
			}
		case run.requests != 0 || run.reserved != 0:
			t.Fatalf("seed %d: %s: %s", seed, name, state(run))
		case sums != Sums{Spent: run.spent}:
			t.Fatalf("seed %d: %s: %s, and its ledger has %+v", seed, name, state(run), sums)
		}
	}
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

// The summaries of sessions that wait for each other are no reason to wait.
func TestSummaryOfAnotherProcessIsReserved(t *testing.T) {
	shared := newBook()
	a, _, end := shared.open(t, "a", 0.05)
	b, _, _ := shared.open(t, "b", 0.05)
	session, summary := a.Session("m", output), Usage{Output: 2048}
	r, err := session.Reserve(t.Context(), Usage{Output: 2000}, summary)
	if err != nil {
		t.Fatal(err)
	}
	settle(r, new(dollars(0.02)))
	if err := a.shared.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := (Sums{Spent: dollars(0.02), Reserved: dollars(0.02048)}); shared.all() != want {
		t.Fatalf("got %+v, want %+v", shared.all(), want)
	}
	if r := reserve(t, b.Session("m", output), 4000); r.Output != 952 {
		t.Errorf("%d tokens, want what the summary leaves", r.Output)
	} else {
		settle(r, new(dollars(0.00952)))
	}
	if r, err = session.Reserve(t.Context(), summary, Usage{}); err != nil {
		t.Fatal(err)
	}
	settle(r, nil)
	session.Release()
	end()
	if got, want := shared.of("a"), (Sums{Spent: dollars(0.04048)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Nobody waits for a process that has disappeared, and its money stays reserved until it is
// charged.
func TestMoneyOfAProcessThatDisappeared(t *testing.T) {
	shared := newBook()
	a, _, _ := shared.open(t, "a", 0.042)
	b, _, _ := shared.open(t, "b", 0.042)
	held, session := reserve(t, a.Session("m", output), 4096), b.Session("m", output)
	waited := make(chan error)
	go func() {
		_, err := session.Reserve(t.Context(), Usage{Output: 4000}, Usage{})
		waited <- err
	}()
	shared.disappear("a")
	want := &Exceeded{Budget: "run budget", Shared: true, Limit: dollars(0.042), Remaining: dollars(0.042)}
	if got := (*Exceeded)(nil); !errors.As(<-waited, &got) || *got != *want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	settle(held, new(dollars(0.001))) // it can't enter that any more
	if err := a.shared.settle(t.Context()); !errors.Is(err, errGone) || shared.all().Money() != dollars(0.04096) {
		t.Fatalf("%v with %+v", err, shared.all())
	}
	if err := b.CanStart(t.Context(), "m"); err != nil {
		t.Errorf("money that is only reserved: %v", err)
	}
	shared.charge("a", dollars(0.03))
	settle(reserve(t, session, 2000), nil)
	want.Remaining = 0
	if got := (*Exceeded)(nil); !errors.As(b.CanStart(t.Context(), "m"), &got) || *got != *want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Another process reserves money after the sums were read: the request gets what is left.
func TestAnotherProcessIsFaster(t *testing.T) {
	shared := newBook()
	a, _, _ := shared.open(t, "a", 0.05)
	b, p, _ := shared.open(t, "b", 0.05)
	before := func() func(context.Context, string) error {
		other := a.Session("m", output)
		var once sync.Once
		return func(_ context.Context, call string) error {
			if call == "reserve" {
				once.Do(func() { settle(reserve(t, other, 1000), nil) })
			}
			return nil
		}
	}
	p.hook(before(), nil)
	r := reserve(t, b.Session("m", output), 5000) // for 4096 at first, the least that is useful
	if all := shared.all(); r.Output != 4000 || all.Money() > dollars(0.05) {
		t.Fatalf("%d tokens, %+v", r.Output, all)
	}
	r.Charge(new(dollars(0.001)))
	p.hook(nil, nil)
	if err := r.Retry(t.Context()); !exceeded(err) {
		t.Errorf("%v with %+v", err, shared.all())
	}
	r.Release()
}

// The money of the other process is free again when the request tries again.
func TestARefusedReservationIsEnteredAgain(t *testing.T) {
	shared := newBook()
	a, _, _ := shared.open(t, "a", 0.05)
	b, p, _ := shared.open(t, "b", 0.05)
	other := a.Session("m", output)
	var once sync.Once
	var held *Reservation
	p.hook(func(_ context.Context, call string) error {
		switch {
		case call == "reserve":
			once.Do(func() { held = reserve(t, other, 1000) })
		case held != nil:
			settle(held, new(USD))
			held = nil
			return a.shared.settle(t.Context())
		}
		return nil
	}, nil)
	r := reserve(t, b.Session("m", output), 5000)
	if want := (Sums{Reserved: dollars(0.04096), Requests: 1}); shared.all() != want {
		t.Errorf("got %+v, want %+v", shared.all(), want)
	}
	p.hook(nil, nil)
	settle(r, nil)
}

// The sums are as before an entry that failed, but the ledger may have others.
func TestEntryIsRepeatedAfterAFailure(t *testing.T) {
	shared := newBook()
	run, p, end := shared.open(t, "a", 0.05)
	r := reserve(t, run.Session("m", output), 1000)
	p.hook(nil, func(context.Context, string) error { return errors.New("no connection") })
	settle(r, new(USD))
	if err := run.shared.settle(t.Context()); err == nil || shared.all() != (Sums{}) {
		t.Fatalf("%v, %+v", err, shared.all())
	}
	p.hook(nil, nil)
	r = reserve(t, run.Session("m", output), 1000)
	if want := (Sums{Reserved: dollars(0.01), Requests: 1}); shared.all() != want {
		t.Errorf("got %+v, want %+v", shared.all(), want)
	}
	settle(r, nil)
	end()
}

// The budget of a job is not shared: its sessions wait for each other.
func TestSessionsOfAJobWaitForEachOther(t *testing.T) {
	run, _, _ := newBook().open(t, "a", 1)
	job := run.Child("job budget", dollars(0.042))
	held, session := reserve(t, job.Session("m", output), 4096), job.Session("m", output)
	waited := make(chan *Reservation)
	go func() {
		r, _ := session.Reserve(t.Context(), Usage{Output: 4000}, Usage{})
		waited <- r
	}()
	settle(held, new(USD))
	settle(<-waited, nil)
	if job.spent != dollars(0.04) || job.reserved != 0 {
		t.Error(state(job))
	}
}

// A ledger that does not return holds up nothing except requests, and these only until their
// context ends.
func TestASlowLedgerDelaysOnlyRequests(t *testing.T) {
	shared := newBook()
	run, p, end := shared.open(t, "a", 0.05)
	session, other := run.Session("m", output), run.Session("m", output)
	r := reserve(t, session, 1000)
	entered := make(chan struct{}, 10)
	p.hook(func(ctx context.Context, _ string) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	failed := make(chan error, 3)
	go func() {
		_, err := other.Reserve(ctx, Usage{Output: 1000}, Usage{})
		failed <- err
	}()
	<-entered
	go func() {
		_, err := run.Session("m", output).Reserve(ctx, Usage{Output: 1000}, Usage{})
		failed <- err
	}()
	go func() { failed <- run.CanStart(ctx, "m") }()
	settle(r, new(dollars(0.004)))
	session.Release()
	if run.spent != dollars(0.004) || run.reserved != 0 {
		t.Error(state(run))
	}
	cancel(cause)
	for range 3 {
		if err := <-failed; !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	p.hook(nil, nil)
	end()
	if want := (Sums{Spent: dollars(0.004)}); shared.all() != want {
		t.Errorf("got %+v, want %+v", shared.all(), want)
	}
}

// What could not be entered counts in full, until it can be.
func TestFailureOfALedger(t *testing.T) {
	broken := errors.New("no connection")
	on := func(call string) func(context.Context, string) error {
		return func(_ context.Context, name string) error {
			if name == call {
				return broken
			}
			return nil
		}
	}
	for _, call := range []string{"others", "reserve", "settle"} {
		shared := newBook()
		run, p, end := shared.open(t, "a", 0.05)
		session := run.Session("m", output)
		r := reserve(t, session, 1000)
		p.hook(on(call), nil)
		if call == "reserve" {
			p.hook(nil, on(call)) // after the entry
		}
		_, err := run.Session("m", output).Reserve(t.Context(), Usage{Output: 500}, Usage{})
		if failed := (*LedgerError)(nil); call == "settle" && err != nil || call != "settle" && (!errors.As(err, &failed) || !errors.Is(err, broken)) {
			t.Errorf("%s: %v", call, err)
		}
		if want := map[bool]USD{true: dollars(0.015), false: dollars(0.01)}[call == "settle"]; run.reserved != want {
			t.Errorf("%s: %s", call, state(run))
		}
		r.Charge(new(dollars(0.002)))
		if err := r.Retry(t.Context()); (call != "settle") != errors.Is(err, broken) {
			t.Errorf("%s: retry: %v", call, err)
		}
		r.Release()
		if err := run.shared.settle(t.Context()); call == "settle" && (err == nil || shared.all().Money() < dollars(0.012)) {
			t.Errorf("%v with %+v", err, shared.all())
		}
		p.hook(nil, nil)
		end()
		if all := shared.all(); all.Money() != run.spent+run.reserved || all.Requests != run.requests {
			t.Errorf("%s: %s, and the ledger has %+v", call, state(run), all)
		}
	}
}

// Only the cost of this process is reported, and an earlier one of it is in the ledger.
func TestOwnCostIsReported(t *testing.T) {
	shared := newBook()
	shared.charge("an earlier process", dollars(0.02))
	var reported USD
	run := NewBudget("run budget", dollars(0.05), time.Now, func(usd USD) { reported = usd })
	end := run.Share(t.Context(), &process{book: shared, name: "a"})
	r := reserve(t, run.Session("m", output), 5000)
	if r.Output != 3000 || reported != dollars(0.03) {
		t.Errorf("%d tokens, reported $%s", r.Output, reported)
	}
	settle(r, new(dollars(0.01)))
	if err := end(t.Context()); err != nil || reported != dollars(0.01) || shared.all() != (Sums{Spent: dollars(0.03)}) {
		t.Errorf("%v, reported $%s, %+v", err, reported, shared.all())
	}
}

func TestNoLimitNeedsNoLedger(t *testing.T) {
	run := NewBudget("run budget", 0, time.Now, nil)
	end := run.Share(t.Context(), nil)
	settle(reserve(t, run.Session("m", output), 5000), nil)
	if err := end(t.Context()); err != nil {
		t.Error(err)
	}
}
