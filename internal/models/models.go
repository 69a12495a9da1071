// Package models opens the models that the jobs of a plan call: the provider's
// wire, and around it what limits, prices, retries, falls back and records. It
// also knows what they cost at most. It sends no request by itself.
package models

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/model/replay"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

// Set holds the models that the jobs of a plan may call. It is safe for
// concurrent use once Begin has returned.
type Set struct {
	plan   *tasks.Plan
	getenv func(string) string
	now    func() time.Time
	proxy  func(*http.Request) (*url.URL, error)
	canon  *model.Canon // of recordings; set by Begin

	mu       sync.Mutex
	scripts  map[string]*script.Script
	wires    map[string]wired // one for each model, so that its connections are shared
	limiters map[account]*model.Limiter
	replays  map[string]*replay.Recording
	recorder *model.Recorder // nil: nothing is recorded
}

// account is whom a provider knows requests by: all models of one share a limiter.
type account struct{ baseURL, key string }

// wired is an open wire, and whose requests go over it.
type wired struct {
	model   model.Model
	account account
}

// New returns the models of a plan. Keys and base URLs come from getenv; requests
// go through proxy if it is not nil. Nothing is opened yet.
func New(plan *tasks.Plan, getenv func(string) string, now func() time.Time, proxy func(*http.Request) (*url.URL, error)) *Set {
	return &Set{
		plan: plan, getenv: getenv, now: now, proxy: proxy, canon: model.NewCanon(nil, nil),
		scripts: map[string]*script.Script{}, wires: map[string]wired{}, limiters: map[account]*model.Limiter{}, replays: map[string]*replay.Recording{},
	}
}

// MayRecord refuses a recording that has one of the plan's jobs already: with two
// runs of a job in it, it could not be played back. Other jobs are added to it.
func (m *Set) MayRecord(path string) error {
	if path == "" {
		return nil
	}
	have, err := replay.Open(path, m.canon)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // of the folder, OpenRecorder tells
	}
	if err != nil {
		return err
	}
	for _, j := range m.plan.Jobs {
		if slices.Contains(have.Jobs(), j.ID) {
			return fmt.Errorf("the recording %s has job %s already, and could not be played back with two runs of it: remove it, or name another file", path, j.ID)
		}
	}
	return nil
}

// Begin sets which texts differ from run to run, so that recordings compare
// without them, and records every exchange in a file, if one is named, with
// secrets removed by redact. The caller calls end when the run has ended.
func (m *Set) Begin(places []model.Place, redact func(text string) string, record string) (end func() error, err error) {
	m.canon = model.NewCanon(places, redact)
	clear(m.replays) // they were read to see whether they can be
	if record == "" {
		return func() error { return nil }, nil
	}
	if m.recorder, err = model.OpenRecorder(record, m.canon); err != nil {
		return nil, err
	}
	return m.recorder.Close, nil
}

// named lists the models that a plan may call, each once, with whether money is
// limited where it is called.
func (m *Set) named() []callable {
	var list []callable
	seen := map[string]int{}
	add := func(id, name string, capped bool) {
		at, known := seen[id]
		if !known {
			at = len(list)
			seen[id] = at
			list = append(list, callable{id: id, name: name})
		}
		list[at].capped = list[at].capped || capped
	}
	budget := m.plan.Budget.CostUSD > 0
	anywhere := budget // any job may start any agent
	for _, j := range m.plan.Jobs {
		capped := budget || j.Limits.CostUSD > 0
		anywhere = anywhere || capped
		add(j.Model, j.ModelName, capped)
		for _, f := range j.Fallback {
			add(f.ID, f.Name, capped)
		}
	}
	for _, a := range m.plan.Agents {
		if a.Model != nil {
			add(a.Model.ID, a.Model.Name, anywhere)
		}
	}
	return list
}

// recorded reports whether a model is a recording, which has its costs in it.
func recorded(id string) bool { return strings.HasPrefix(id, "replay:") }

// callable is a model that a plan may call.
type callable struct {
	id, name string
	capped   bool
}

// Check finds what would stop a job from reaching its model, before anything
// runs: a missing key, a script that can't be read, a money cap that could not
// be kept because the model's price is unknown.
func (m *Set) Check() error {
	if err := m.Unpriced(); err != nil {
		return err
	}
	var errs []error
	for _, c := range m.named() {
		if _, err := m.open(c.id, c.name, "", ""); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Unpriced is the error of caps on money that could not be kept.
func (m *Set) Unpriced() error {
	var errs []error
	for _, c := range m.named() {
		if _, ok := m.price(c.id, c.name); !ok && c.capped && !m.plan.AllowUnknownPrice && !recorded(c.id) {
			errs = append(errs, fmt.Errorf("the price of %s is unknown, so the limit on cost can't be kept: give it under prices:, or set allow_unknown_price: true", c.name))
		}
	}
	return errors.Join(errs...)
}

// Warnings names the models whose cost can't be told.
func (m *Set) Warnings() []string {
	var list []string
	for _, c := range m.named() {
		if _, ok := m.price(c.id, c.name); !ok && !recorded(c.id) {
			list = append(list, fmt.Sprintf("the price of %s is unknown: its cost is reported as unknown (null)", c.name))
		}
	}
	return list
}

// Open makes the model of a job; see [runner.Options]. Around each wire are, from
// the inside, what spreads the requests of all who share the provider's key, the
// price, and retrying; around all of them the fallback and the recorder.
// Scripts and recordings are played as they are.
func (m *Set) Open(j tasks.Job, child string, retry func(event.Retry)) (runner.Conversation, error) {
	name := j.ID
	if child != "" {
		name += "/" + child
	}
	main, err := m.wrapped(tasks.Model{ID: j.Model, Name: j.ModelName}, child, name, retry)
	if err != nil {
		return main, err
	}
	if len(j.Fallback) > 0 {
		chain := []model.Named{{Name: j.ModelName, Model: main.Model}}
		for _, f := range j.Fallback {
			c, err := m.wrapped(f, child, name, retry)
			if err != nil {
				return c, err
			}
			chain = append(chain, model.Named{Name: f.Name, Model: c.Model})
		}
		main.Model = model.Fallback(chain, func(from, to string, err error) {
			retry(event.Retry{From: from, To: to, Error: err.Error()})
		})
	}
	main.Price = m.dearest(append([]tasks.Model{{ID: main.As, Name: main.As}}, j.Fallback...))
	if m.recorder != nil {
		main.Model = model.Recording(main.Model, m.recorder, name, main.As)
	}
	return main, nil
}

// dearest returns what a request to a chain of models costs at most: the price of
// the dearest. It is nil if any is unknown, and for scripts, whose usage is
// written down.
func (m *Set) dearest(chain []tasks.Model) func(money.Usage) money.USD {
	var all []money.Price
	for _, of := range chain {
		p, ok := m.price(of.ID, of.Name)
		if !ok || strings.HasPrefix(of.ID, "script:") {
			return nil
		}
		all = append(all, p)
	}
	return func(u money.Usage) money.USD {
		var most money.USD
		for _, p := range all {
			most = max(most, p.Cost(u))
		}
		return most
	}
}

func (m *Set) wrapped(of tasks.Model, child, name string, retry func(event.Retry)) (runner.Conversation, error) {
	c, err := m.open(of.ID, of.Name, child, name)
	if err != nil {
		return c, err
	}
	l := m.limiter(of.ID)
	if l != nil {
		c.Model = model.Limited(c.Model, l, nil)
	}
	if price, ok := m.price(of.ID, of.Name); !recorded(of.ID) {
		c.Model = model.Priced(c.Model, func(u money.Usage) (money.USD, bool) { return price.Cost(u), ok })
	}
	if l != nil {
		c.Model = model.Retrying(c.Model, model.DefaultRetryPolicy(), func(attempt int, wait time.Duration, err error) {
			retry(event.Retry{Attempt: attempt, WaitMS: wait.Milliseconds(), Error: err.Error()})
		})
	}
	return c, nil
}

// limiter returns what spreads the requests of the account of a model that is
// open; nil for models that are no provider's.
func (m *Set) limiter(id string) *model.Limiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.wires[id]
	if !ok {
		return nil
	}
	if m.limiters[w.account] == nil {
		m.limiters[w.account] = model.NewLimiter(model.DefaultLimitPolicy(m.now))
	}
	return m.limiters[w.account]
}

// open opens a model's wire, or what stands in for it. name is whose exchanges
// a recording is asked for.
func (m *Set) open(id, written, child, name string) (runner.Conversation, error) {
	if kind, file, _ := strings.Cut(id, ":"); kind == "script" {
		return m.openScript(file, child)
	} else if kind == "replay" {
		return m.openReplay(file, name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.wires[id]; !ok {
		wire, err := m.openWire(id, written)
		if err != nil {
			return runner.Conversation{}, err
		}
		m.wires[id] = wire
	}
	return runner.Conversation{Model: m.wires[id].model, As: id}, nil
}

// openWire opens the wire to a provider's model.
func (m *Set) openWire(id, written string) (wired, error) {
	prefix, bare, _ := strings.Cut(id, "/")
	own, defined := m.plan.Providers[prefix]
	kindName := prefix
	if own.Kind != "" {
		kindName = own.Kind
		if name, other := map[string]string{"openai": "openai-compatible", "responses": "openai-responses"}[own.Kind]; other {
			kindName = name
		}
	}
	kind, ok := provider.Lookup(kindName)
	if !ok {
		return wired{}, fmt.Errorf("the provider %s is not supported yet", prefix)
	}
	conf := provider.Config{
		Kind: kindName, BaseURL: own.BaseURL, Model: bare, Header: own.Headers, Query: own.Query, Now: m.now, Proxy: m.proxy,
	}
	if p, ok := prices.Of(id); ok {
		conf.MaxOutput = p.MaxOutput
	}
	if conf.BaseURL == "" {
		conf.BaseURL = m.first(kind.BaseEnv)
		if err := checkEndpoint(m.plan.Policies, strings.Join(kind.BaseEnv, " or "), conf.BaseURL); err != nil {
			return wired{}, err
		}
	}
	switch {
	case own.KeyEnv != "":
		if conf.APIKey = m.first([]string{own.KeyEnv}); conf.APIKey == "" {
			return wired{}, &KeyError{written, []string{own.KeyEnv}}
		}
	case defined && own.BaseURL != "": // somebody else's server: the provider's own key is not for it
	default:
		if conf.APIKey = m.first(kind.KeyEnv); conf.APIKey == "" && !kind.Keyless {
			return wired{}, &KeyError{written, kind.KeyEnv}
		}
	}
	opened, err := provider.Open(conf)
	if err != nil {
		return wired{}, fmt.Errorf("%s: %w", written, err)
	}
	return wired{opened, account{cmp.Or(conf.BaseURL, kind.BaseURL), conf.APIKey}}, nil
}

// KeyError is the error of a model whose provider needs a key that is not set.
type KeyError struct {
	Model     string   // as the manifest names it
	Variables []string // the environment variables that may hold the key
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s needs a key: set %s", e.Model, strings.Join(e.Variables, " or "))
}

// first is the value of the first variable that is set.
func (m *Set) first(variables []string) string {
	for _, name := range variables {
		if v := strings.TrimSpace(m.getenv(name)); v != "" {
			return v
		}
	}
	return ""
}

// openReplay plays back what was recorded for a job, or one of its children.
func (m *Set) openReplay(path, name string) (runner.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.replays[path]
	if r == nil {
		var err error
		if r, err = replay.Open(path, m.canon); err != nil {
			return runner.Conversation{}, err
		}
		m.replays[path] = r
	}
	player := r.Player(name)
	return runner.Conversation{Model: player, Finish: player.Finish, As: cmp.Or(player.Model(), "replay:"+path)}, nil
}

// openScript starts a scripted model from its beginning, for a child session
// the turns of its agent; the file is read once.
func (m *Set) openScript(path, child string) (runner.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.scripts[path]
	if s == nil {
		data, err := os.ReadFile(path)
		if err != nil {
			return runner.Conversation{}, fmt.Errorf("read the scripted model: %w", err)
		}
		if s, err = script.Parse(data, path); err != nil {
			return runner.Conversation{}, err
		}
		m.scripts[path] = s
	}
	player, err := s.Player(child)
	if err != nil {
		return runner.Conversation{}, err
	}
	return runner.Conversation{Model: player, Finish: player.Finish, As: "script:" + path}, nil
}

// Facts returns what the table of prices knows of a model.
func Facts(name string) runner.Facts {
	p, _ := prices.Of(name)
	return runner.Facts{Images: p.Images, PDFs: p.PDFs, Context: p.Context, MaxOutput: p.MaxOutput}
}

// KnownPrice is the table's price of a model.
func KnownPrice(name string) (money.Price, bool) {
	m, ok := prices.Of(name)
	return m.Price, ok
}

// price is what a model costs: the manifest's word, else the table's.
func (m *Set) price(id, written string) (money.Price, bool) {
	if p, ok := m.plan.Prices[written]; ok {
		return p, true
	}
	return KnownPrice(id)
}
