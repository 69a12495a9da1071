// Package worker claims jobs of a queue (package queue), loads their plan from the files that were queued, checks it (package checks), and
// runs each as a plan with one job (package runs), whose events are also stored on the server. It ends jobs unrun that
// need one that has not passed, are too late, or were delivered too often; a later delivery starts a job again, or pushes the commit that it
// has made (package history). The jobs of one worker share rate limits and connections. It decides neither which jobs
// there are nor how one is run.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/machine"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/queue/queued"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// Run runs a worker.
func Run(ctx context.Context, w world.World, o Options) error {
	if err := machine.Check(w); err != nil {
		return err
	}
	q, err := o.await(ctx, w)
	if err != nil {
		return err
	}
	defer q.Close()
	k := &worker{
		world: w, opts: o, queue: q, began: w.Now(), claims: map[*queue.Claim]time.Time{}, plans: map[string]*queuedPlan{},
		refused: map[string]string{}, stopped: map[string]bool{}, pauses: make(chan announcement, 16), changed: make(chan struct{}, 1),
	}
	k.accounts = models.NewAccounts(w.Now, w.Proxy, k.announces)
	k.probe = levels.Probing(ctx, o.Sandbox)
	defer k.probe.End()
	k.host, _ = os.Hostname() // only for people
	var random [4]byte
	rand.Read(random[:])
	k.id = hex.EncodeToString(random[:])
	k.dir = filepath.Join(rundir.Resolve(os.TempDir()), "millhand-"+k.id) // a later run sweeps it if this process is killed
	if err := os.Mkdir(k.dir, 0o700); err != nil {
		return fault.New(event.ExitUsage, "create a directory for jobs: %w", err)
	}
	lock, err := rundir.TakeLock(ctx, k.dir, "worker-"+k.id, w.Clock())
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer func() {
		os.RemoveAll(k.dir)
		lock.Close()
	}()
	k.say("worker %s on %s: up to %s in parallel", k.id, k.host, figures.Count(o.Jobs, "job"))
	ended, leave := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { k.show(ended) })
	beside.Go(func() { k.listen(ended) })
	beside.Go(func() { k.announce(ended) })
	err = k.loop(ctx)
	k.running.Wait()
	leave()
	beside.Wait()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), signOff)
	defer stop()
	if gone := q.Leave(last, k.id); gone != nil && err == nil {
		k.say("sign off: %v", gone)
	}
	if ctx.Err() != nil { // its jobs were given back
		return fault.Wrap(fault.ExitOf(context.Cause(ctx)), fmt.Errorf("worker %s: %w", k.id, context.Cause(ctx)))
	}
	return err
}

// await connects to the queue. It waits for a server that is starting as long as the worker would wait
// for a job.
func (o *Options) await(ctx context.Context, w world.World) (*queue.Queue, error) {
	began, last := w.Now(), ""
	for {
		q, err := queued.Connect(ctx, w, o.Server)
		if err == nil || !queue.IsStarting(err) || o.Drain || o.MaxIdle > 0 && w.Now().Sub(began) >= o.MaxIdle {
			return q, err
		}
		if err.Error() != last { // also with --quiet: the URL may be wrong
			last = err.Error()
			fmt.Fprintln(w.Err, printable.Text("waiting for the queue: "+last))
		}
		if err := clock.Wait(ctx, queued.Poll); err != nil {
			return nil, fault.Wrap(fault.ExitOf(err), fmt.Errorf("wait for the queue: %w", err))
		}
	}
}

// loop claims jobs until there are none, or ctx ends.
func (k *worker) loop(ctx context.Context) error {
	names := map[string]bool{}
	for _, name := range k.world.Names {
		names[name] = k.world.Getenv(name) != ""
	}
	claims, err := k.queue.Claims(k.id, names)
	if err != nil {
		return fault.New(event.ExitUnavailable, "claim jobs: %w", err)
	}
	defer claims.Close()
	slots := make(chan struct{}, k.opts.Jobs)
	active := &activity{now: k.world.Now}
	active.touch()
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		claim, paused, err := k.next(ctx, claims)
		switch {
		case err != nil:
			return err
		case claim != nil:
			active.touch()
			k.start(ctx, claim, func() {
				active.touch()
				<-slots
			})
			if k.opts.Once {
				return nil
			}
			continue
		case ctx.Err() != nil:
			return nil
		}
		if <-slots; len(slots) > 0 {
			continue
		}
		if k.opts.MaxIdle > 0 && active.idle() >= k.opts.MaxIdle {
			return nil
		}
		if over, err := k.over(ctx, claims, paused); over || err != nil {
			return err
		}
	}
}

// activity is when a job was last claimed or ended.
type activity struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time
}

func (a *activity) touch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = a.now()
}

func (a *activity) idle() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now().Sub(a.last)
}

// next claims a job, or returns nil if none is offered for a while. A worker that pauses claims none for a second.
func (k *worker) next(ctx context.Context, claims *queue.Claims) (claim *queue.Claim, paused bool, err error) {
	if wait := k.pause(); wait > 0 {
		_ = clock.Wait(ctx, min(wait, time.Second)) // the caller asks whether ctx has ended
		return nil, true, nil
	}
	claim, err = k.claim(ctx, claims)
	if err != nil && ctx.Err() == nil {
		return nil, false, fault.New(event.ExitUnavailable, "claim a job: %w", err)
	}
	k.lacking(claims.Lacks(ctx))
	return claim, false, nil
}

// over reports whether a worker that drains the queue, and runs no job, has nothing to wait for.
func (k *worker) over(ctx context.Context, claims *queue.Claims, paused bool) (bool, error) {
	if !k.opts.Drain || !k.drained() {
		return false, nil
	}
	more, err := claims.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		return false, fault.New(event.ExitUnavailable, "count the jobs that wait: %w", err)
	}
	return !more || paused, nil
}

// start runs a claimed job beside the loop, and calls done at its end.
func (k *worker) start(ctx context.Context, claim *queue.Claim, done func()) {
	k.mu.Lock()
	k.claims[claim] = k.world.Now()
	if k.stopped[claim.Run.ID] { // between the claim and now
		claim.Cancel()
	}
	k.mu.Unlock()
	k.showNow()
	k.running.Go(func() {
		defer done()
		k.job(ctx, claim)
		k.mu.Lock()
		delete(k.claims, claim)
		k.mu.Unlock()
		k.showNow()
	})
}

// claim claims a job of a run that this worker runs. It returns nil without an error if no job is offered for a second.
func (k *worker) claim(ctx context.Context, claims *queue.Claims) (*queue.Claim, error) {
	until := k.world.Now().Add(time.Second)
	for {
		offer, err := claims.Next(ctx, until.Sub(k.world.Now()))
		if offer == nil || err != nil {
			return nil, err
		}
		var claim *queue.Claim
		if k.accept(ctx, offer.Run) != nil {
			err = offer.Leave(ctx)
		} else {
			claim, err = offer.Take(ctx)
		}
		if claim != nil || err != nil {
			return claim, err
		}
	}
}

// drained reports whether this worker waits for no job that it has given back.
func (k *worker) drained() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.world.Now().Sub(k.gave) > shortestPause+queued.Poll
}

// pause returns how long the worker claims nothing.
func (k *worker) pause() time.Duration {
	short := k.full()
	k.mu.Lock()
	defer k.mu.Unlock()
	wait := max(k.until.Sub(k.world.Now()), 0)
	if short != "" {
		wait = max(wait, queued.Poll)
		if k.paused != short {
			k.say("no jobs are claimed: %s", short)
		}
		k.paused = short
	} else if wait == 0 && k.paused != "" {
		k.say("jobs are claimed again")
		k.paused = ""
	}
	return wait
}

// full returns which disk has too little space for jobs; "" for none.
func (k *worker) full() string {
	for _, dir := range []string{k.dir, k.world.CacheDir()} {
		at, err := files.Open(existing(dir))
		if err != nil {
			continue
		}
		free := at.Free()
		at.Close()
		if free >= 0 && free < k.opts.MinFree {
			return fmt.Sprintf("only %s free on the disk of %s", figures.Bytes(free), dir)
		}
	}
	return ""
}

// existing returns the directory, or the nearest one above it that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// lacking reports the variables that jobs in the queue require and this worker lacks, when they
// change.
func (k *worker) lacking(lacks []string) {
	text := strings.Join(lacks, "; ")
	if k.lacks != text && text != "" {
		k.say("jobs wait that require variables of the environment that this worker lacks: %s", text)
	}
	k.lacks = text
}

// signOff limits the last request of a worker: the server may not be running.
const signOff = 3 * time.Second

// showing is how often a worker shows others what it does.
const showing = 3 * time.Second

// show shows others what this worker does, until ctx ends.
func (k *worker) show(ctx context.Context) {
	tick := time.NewTicker(showing)
	defer tick.Stop()
	for {
		k.queue.Show(ctx, k.state()) //nolint:errcheck // the next one does
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-k.changed:
		}
	}
}

// showNow lets show show what has changed.
func (k *worker) showNow() {
	select {
	case k.changed <- struct{}{}:
	default: // it will
	}
}

// state describes the worker.
func (k *worker) state() queue.Worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := queue.Worker{ID: k.id, Host: k.host, Version: k.world.Version, Started: k.began, Slots: k.opts.Jobs, Jobs: []queue.Running{}, Paused: k.paused, Refused: maps.Clone(k.refused)}
	for c, since := range k.claims {
		s.Jobs = append(s.Jobs, queue.Running{Run: c.Run.ID, Job: c.Job.ID, Delivery: c.Delivery, Since: since})
	}
	sort.Slice(s.Jobs, func(i, j int) bool {
		a, b := &s.Jobs[i], &s.Jobs[j]
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Job, b.Job)) < 0
	})
	return s
}

// listen passes on what other processes announce, until ctx ends.
func (k *worker) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := k.queue.Signals(ctx, k.cancelled, k.cooled)
		if err != nil && ctx.Err() == nil {
			k.say("watch the queue: %v", err)
		}
		_ = clock.Wait(ctx, queued.Poll) // the loop ends with ctx
	}
}

// cancelled stops the jobs of a run that was cancelled.
func (k *worker) cancelled(run string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped[run] = true
	for c := range k.claims {
		if c.Run.ID == run {
			c.Cancel()
		}
	}
}

// announcement is a pause of a provider's key that other workers have to know.
type announcement struct {
	account string
	wait    time.Duration
}

// announce sends pauses to other workers, until ctx ends.
func (k *worker) announce(ctx context.Context) {
	for {
		select {
		case a := <-k.pauses:
			if err := k.queue.Cool(ctx, a.account, queue.Cooldown{Worker: k.id, Wait: a.wait}); err != nil && ctx.Err() == nil {
				k.say("announce that a provider is busy: %v", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// announces announces a pause, unless so many are waiting that others know.
func (k *worker) announces(account string, wait time.Duration) {
	select {
	case k.pauses <- announcement{account, wait}:
	default:
	}
}

// cooled pauses the requests with a provider's key because another worker's were rejected.
func (k *worker) cooled(account string, c queue.Cooldown) {
	if c.Worker != k.id {
		k.accounts.Limiter(account).Pause(c.Wait)
	}
}
