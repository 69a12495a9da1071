// Package models opens the models that the jobs of a plan call: the provider's wire
// with wrappers for rate limits, prices, retries, fallback and recording, with keys and logins of clouds, and models
// that are scripts or recordings. It also computes their maximum cost, and lists the known models ([NewCatalog]). It
// sends no requests to models; [Set.Found] asks the machine's metadata service for credentials.
package models

import (
	"cmp"
	"context"
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

	"github.com/agnivade/levenshtein"

	"github.com/millhand/millhand/internal/app/pricetable"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/model/replay"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
)

// Set holds the models that the jobs of a plan may call. It is safe for
// concurrent use once Begin has returned.
type Set struct {
	// Hold is called with each key of a command or file before it is used, to redact it.
	Hold func(key string)
	// Accounts are shared with other Sets of this process. It is set before use; Of gives a
	// Set its own.
	Accounts *Accounts
	// Plan is that of Of, or one that was made of it before Begin.
	Plan *tasks.Plan

	process
	table *prices.Table
	canon *model.Canon // of recordings; set by Begin

	mu       sync.Mutex
	scripts  map[string]*script.Script
	children map[scriptedChild]int // number of sessions
	wires    map[string]wired      // one for each model, which shares its connections
	replays  map[string]*replay.Recording
	recorder *model.Recorder // nil for no recording

	surcharges surcharges
}

// wired is an open wire with its account.
type wired struct {
	model   model.Model
	account string                      // see [Accounts]
	source  string                      // of the credentials of a cloud
	found   func(context.Context) error // see [Set.Found]; nil without a login to AWS
}

// process is what the models use of this process.
type process struct {
	getenv    variables // has keys and base URLs
	now       func() time.Time
	proxy     func(*http.Request) (*url.URL, error) // of requests; nil for none
	userAgent string                                // of requests; "" is millhand
	environ   []string                              // environment of key commands
}

// Of returns the models of a plan in a process, with the prices that it has saved. It opens nothing.
func Of(w world.World, plan *tasks.Plan) *Set {
	return withPrices(plan, process{w.Getenv, w.Now, w.Proxy, "millhand/" + w.Version, w.Environ()}, pricetable.Saved(w))
}

// withPrices returns the models of a plan with the prices and facts of a table, unless the plan has others.
func withPrices(plan *tasks.Plan, p process, table *prices.Table) *Set {
	return &Set{
		Accounts: newAccounts(model.DefaultLimitPolicy(p.now), nil), Plan: plan, process: p, table: table, canon: model.NewCanon(nil, nil),
		scripts: map[string]*script.Script{}, children: map[scriptedChild]int{}, wires: map[string]wired{}, replays: map[string]*replay.Recording{},
	}
}

func (m *Set) costs() costs { return costs{m.Plan, m.getenv, m.now, m.table, &m.surcharges} }

// MayRecord returns an error if a recording already has one of the plan's jobs: a
// recording with two runs of a job can't be replayed. Other jobs can be added to it.
func (m *Set) MayRecord(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if err := files.Own(path).Check(); err != nil {
			return fmt.Errorf("open the recording: %w", err)
		}
		return nil // nothing to read
	}
	have, err := replay.Open(path, m.canon)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // OpenRecorder checks the directory
	}
	if err != nil {
		return err
	}
	for _, j := range m.Plan.Jobs {
		if slices.Contains(have.Jobs(), j.ID) {
			return fmt.Errorf("recording %s already has job %s, and can't be replayed with two runs of it: remove it, or choose another file", path, j.ID)
		}
	}
	return nil
}

// Begin sets the texts that differ between runs, which recordings ignore. It starts
// recording requests and responses in a file, unless record is "", redacted by
// redact. The caller calls end when the run has ended.
func (m *Set) Begin(values []model.Placeholder, redact func(text string) string, record string) (end func() error, err error) {
	m.canon = model.NewCanon(values, redact)
	clear(m.replays) // Check read them
	if record == "" {
		return func() error { return nil }, nil
	}
	if m.recorder, err = model.OpenRecorder(record, m.canon); err != nil {
		return nil, err
	}
	return m.recorder.Close, nil
}

// named lists the models that a plan may call, each once, and whether a cost limit
// applies to it.
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
	budget := m.Plan.Budget.CostUSD > 0
	anywhere := budget // any job may start any agent
	for _, j := range m.Plan.Jobs {
		capped := budget || j.Limits.CostUSD > 0
		anywhere = anywhere || capped
		for _, of := range j.Models() {
			add(of.ID, of.Name, capped)
		}
	}
	for _, a := range m.Plan.Agents {
		if a.Model != nil {
			add(a.Model.ID, a.Model.Name, anywhere)
		}
	}
	return list
}

// scripted reports whether a model is a script, which defines its usage.
func scripted(id string) bool { return strings.HasPrefix(id, "script:") }

// recorded reports whether a model is a recording, which contains its costs.
func recorded(id string) bool { return strings.HasPrefix(id, "replay:") }

// callable is a model that a plan may call.
type callable struct {
	id, name string
	capped   bool
}

// Check reports, before anything runs, why jobs can't use their models: a missing
// key, an unreadable script, or a cost limit for a model with an unknown price.
func (m *Set) Check() error {
	if err := m.Unpriced(); err != nil {
		return err
	}
	var errs []error
	for _, c := range m.named() {
		if _, err := m.open(c.id, c.name, session{}); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, m.refused()...)...)
}

// refused reports jobs whose output schema a provider refuses.
func (m *Set) refused() (errs []error) {
	said := map[string]bool{}
	for _, j := range m.Plan.Jobs {
		if j.Schema == nil || said[j.Task] {
			continue
		}
		for _, of := range append([]tasks.Model{{ID: j.Model, Name: j.ModelName}}, j.Fallback...) {
			_, kind, err := endpoint(m.Plan, of.ID)
			if err != nil {
				continue // a script, or reported
			}
			if property, found := kind.Refuses(j.Schema); found {
				said[j.Task] = true
				errs = append(errs, fmt.Errorf("%s refuses the output schema of task %s because of the property %q: rename it, to 1 to 64 letters of a-z and A-Z, digits and _ . -", of.Name, j.Task, property))
			}
		}
	}
	return errs
}

// Unpriced returns an error if a cost limit applies to a model with an unknown price.
func (m *Set) Unpriced() error {
	var errs []error
	for _, c := range m.named() {
		if _, ok := m.costs().price(c.id, c.name); !ok && c.capped && !m.Plan.AllowUnknownPrice && !recorded(c.id) {
			instead := ":"
			if meant := m.suggestion(c.id); meant != "" { // the advice alone would lead to requests that the provider refuses
				instead = meant + " Otherwise"
			}
			errs = append(errs, fmt.Errorf("the price of %s is unknown, so the cost limit can't be enforced%s add it under prices:, or set allow_unknown_price: true", c.name, instead))
		}
	}
	return errors.Join(errs...)
}

// Warnings lists models with an unknown or doubtful price, and efforts that models don't support.
func (m *Set) Warnings() []string {
	list := m.unsent()
	for _, c := range m.named() {
		if _, ok := m.costs().price(c.id, c.name); !ok && !recorded(c.id) {
			list = append(list, fmt.Sprintf("the price of %s is unknown: its cost is reported as null%s", c.name, m.suggestion(c.id)))
		}
	}
	return append(list, m.doubts()...)
}

// Notes lists models that are probably misspelt, and cost limits that may not work. Neither
// is an error: the models may exist.
func (m *Set) Notes() []string {
	var list []string
	for _, c := range m.named() {
		if _, ok := m.costs().price(c.id, c.name); ok {
			continue
		}
		if meant := m.suggestion(c.id); meant != "" {
			list = append(list, "unknown model "+c.name+meant)
		}
	}
	return append(list, m.doubts()...)
}

// suggestion returns "; did you mean X?" with the most similar model of the price table
// and the same provider, or with the longest one that the name starts with; "" for a model of the manifest's own providers, or if none is similar.
func (m *Set) suggestion(id string) string {
	prefix, name, ok := strings.Cut(id, "/")
	_, own := m.Plan.Providers[prefix]
	if _, known := provider.Lookup(prefix); own || !ok || !known {
		return ""
	}
	best, least, start := "", min(len(name)/4, 2)+1, ""
	for _, known := range m.table.Names() {
		rest, same := strings.CutPrefix(known, prefix+"/")
		if d := levenshtein.ComputeDistance(name, rest); same && d < least {
			best, least = known, d
		}
		if same && len(known) > len(start) && strings.HasPrefix(name, rest+"-") {
			start = known
		}
	}
	if best = cmp.Or(best, start); best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// Open opens the model of a job; see [runner.Options]. The wrappers of each wire are,
// from the inside, the rate limiter and the gate of the account, the price, and retrying; then
// the fallback and the recorder. Scripts and recordings have no retries and no
// limiter.
func (m *Set) Open(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
	name := j.ID
	if child != "" {
		name += "/" + child
	}
	of := session{job: jobKey{m, j.ID}, child: child, name: name, on: on}
	main, err := m.wrapped(tasks.Model{ID: j.Model, Name: j.ModelName}, of, len(j.Fallback) > 0)
	if err != nil {
		return main, err
	}
	if len(j.Fallback) > 0 {
		chain := []model.Named{{Name: j.ModelName, Model: main.Model}}
		for i, f := range j.Fallback {
			c, err := m.wrapped(f, of, i+1 < len(j.Fallback))
			if err != nil {
				return c, err
			}
			chain = append(chain, model.Named{Name: f.Name, Model: c.Model})
		}
		main.Model = model.Fallback(chain, func(from, to string, err error) {
			on.Retry(event.Retry{From: from, To: to, Error: err.Error()})
		})
	}
	main.Quotes = m.quotes(append([]tasks.Model{{ID: main.As, Name: main.As}}, j.Fallback...))
	if m.recorder != nil {
		main.Model = model.Recording(main.Model, m.recorder, name, main.As)
	}
	return main, nil
}

// quotes returns what a request to one of a list of models may cost. It is nil if a price is unknown, and for scripts, which
// define their usage.
func (m *Set) quotes(chain []tasks.Model) money.Quotes {
	var all money.Quotes
	for _, of := range chain {
		p, ok := m.costs().price(of.ID, of.Name)
		if !ok || scripted(of.ID) {
			return nil
		}
		all = append(all, money.Quote{Schedule: p.Schedule, Surcharge: m.costs().surcharge(of.ID)})
	}
	return all
}

// session is a session whose model is opened.
type session struct {
	job         jobKey
	child, name string
	on          opened.Notices
}

// scriptedChild identifies the sessions of an agent that a script plays in a job.
type scriptedChild struct {
	job         jobKey
	path, agent string
}

// jobKey identifies a job among those of all plans in a process.
type jobKey struct {
	of *Set
	id string
}

// wrapped opens a model of a session; more reports whether there is another one to fall back to.
func (m *Set) wrapped(of tasks.Model, s session, more bool) (opened.Conversation, error) {
	c, err := m.open(of.ID, of.Name, s)
	if err != nil {
		return c, err
	}
	if facts, ok := declared(m.Plan, of.ID); ok {
		c.Model = stated{c.Model, facts.Reasoning, facts.MaxOutput}
	}
	l, g := m.limits(of.ID)
	wait := m.patience(of.ID, more)
	if l != nil {
		c.Model = model.Gated(model.Limited(c.Model, l, nil), g, s.outage(of.Name, wait))
	}
	if price, _ := m.costs().price(of.ID, of.Name); !recorded(of.ID) {
		c.Model = model.Priced(c.Model, func(u money.Usage) (money.USD, bool) { return m.costs().cost(of.ID, price, u) })
	}
	if l != nil {
		policy := model.DefaultRetryPolicy()
		policy.Wait, policy.Now, policy.Pause = wait, m.now, s.on.Pause
		c.Model = model.Retrying(c.Model, policy, func(attempt int, wait time.Duration, err error) {
			s.on.Retry(event.Retry{Attempt: attempt, WaitMS: wait.Milliseconds(), Error: err.Error()})
		})
	}
	return c, nil
}

// limits returns the rate limiter and the gate of an open model's account; nil for scripts and
// recordings.
func (m *Set) limits(id string) (*model.Limiter, *model.Gate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.wires[id]
	if !ok {
		return nil, nil
	}
	return m.Accounts.Limiter(w.account), m.Accounts.Gate(w.account)
}

// open opens a model's wire, script or recording for a session, whose name identifies it in a recording.
func (m *Set) open(id, written string, s session) (opened.Conversation, error) {
	if kind, file, _ := strings.Cut(id, ":"); kind == "script" {
		return m.openScript(file, s)
	} else if kind == "replay" {
		return m.openReplay(file, s.name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.wires[id]; !ok {
		wire, err := m.openWire(id, written)
		if err != nil {
			return opened.Conversation{}, err
		}
		m.wires[id] = wire
	}
	return opened.Conversation{Model: m.wires[id].model, As: id}, nil
}

// openWire opens the wire to a provider's model.
func (m *Set) openWire(id, written string) (wired, error) {
	prefix, _, _ := strings.Cut(id, "/")
	own, defined := m.Plan.Providers[prefix]
	conf, kind, err := endpoint(m.Plan, id)
	if err != nil {
		return wired{}, err
	}
	conf.Now, conf.Proxy, conf.UserAgent = m.now, m.proxy, m.userAgent
	conf.MaxOutput, conf.HTTPClient = m.Facts(id).MaxOutput, m.Accounts.client
	if conf.BaseURL == "" {
		_, conf.BaseURL = m.getenv.first(kind.BaseEnv)
		if err := checkEndpoint(m.Plan.Policies, strings.Join(kind.BaseEnv, " or "), conf.BaseURL); err != nil {
			return wired{}, err
		}
	}
	var fix string
	account := ""
	if conf, account, fix, err = m.access().authorized(conf, kind, own, defined, written); err != nil {
		return wired{}, err
	}
	if conf.BaseURL == "" && kind.BaseURL == "" && len(kind.BaseEnv) > 0 && conf.AWS == nil && conf.Region == "" {
		return wired{}, fmt.Errorf("missing endpoint of %s: set the environment variable %s, or providers: {NAME: {base_url: URL}}", written, strings.Join(kind.BaseEnv, " or "))
	}
	client, err := provider.Open(conf)
	if err != nil {
		return wired{}, fmt.Errorf("%s: %w", written, err)
	}
	if fix != "" {
		client = keyed{client, fix}
	}
	w := wired{model: client, account: accountID(cmp.Or(conf.BaseURL, kind.BaseURL), account), source: source(conf, kind)}
	if conf.AWS != nil && conf.APIKey == "" && conf.Keys == nil {
		w.found = conf.AWS.Found
	}
	return w, nil
}

// keyed is a model whose errors about the key have a fix.
type keyed struct {
	model.Model
	fix string
}

func (k keyed) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	response, err := k.Model.Stream(ctx, req, emit)
	if e := (*model.Error)(nil); errors.As(err, &e) && e.Class == model.ClassAuth {
		explained := *e
		explained.Err = fmt.Errorf("%w; %s", e.Err, k.fix)
		return response, &explained
	}
	return response, err
}

// openReplay opens the recording of a job, or of one of its children.
func (m *Set) openReplay(path, name string) (opened.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.replays[path]
	if r == nil {
		var err error
		if r, err = replay.Open(path, m.canon); err != nil {
			return opened.Conversation{}, err
		}
		m.replays[path] = r
	}
	player := r.Player(name)
	return opened.Conversation{Model: player, Finish: player.Finish, As: cmp.Or(player.Model(), "replay:"+path)}, nil
}

// plays reports whether a job has a model for its own session.
func (m *Set) plays(id string) bool {
	return slices.ContainsFunc(m.Plan.Jobs, func(j tasks.Job) bool {
		return j.Model == id || slices.ContainsFunc(j.Fallback, func(f tasks.Model) bool { return f.ID == id })
	})
}

// openScript starts a scripted model from its first turn; for a child session, with
// the turns of its agent, or those of the agent's second session in the job under NAME#2. The file is read once.
func (m *Set) openScript(path string, of session) (opened.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.scripts[path]
	if s == nil {
		data, err := os.ReadFile(path)
		if err != nil {
			return opened.Conversation{}, fmt.Errorf("read the scripted model: %w", err)
		}
		if s, err = script.Parse(data, path); err != nil {
			return opened.Conversation{}, err
		}
		m.scripts[path] = s
	}
	child := of.child
	if child != "" {
		key := scriptedChild{of.job, path, child}
		m.children[key]++
		if list := fmt.Sprintf("%s#%d", child, m.children[key]); slices.Contains(s.Agents(), list) {
			child = list
		}
	}
	if child != "" && !slices.Contains(s.Agents(), child) && !m.plays("script:"+path) {
		child = "" // the script is its own
	}
	player, err := s.Player(child)
	if err != nil {
		return opened.Conversation{}, err
	}
	return opened.Conversation{Model: player, Finish: player.Finish, As: "script:" + path}, nil
}
