package command

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

// models opens the models of a plan's jobs.
type models struct {
	world World
	plan  *tasks.Plan

	mu      sync.Mutex
	scripts map[string]*script.Script
	wires   map[string]model.Model // one for each model, so that its connections are shared
}

func newModels(w World, plan *tasks.Plan) *models {
	return &models{world: w, plan: plan, scripts: map[string]*script.Script{}, wires: map[string]model.Model{}}
}

// check finds what would stop a job from reaching its model, before anything
// runs: a missing key, a script that can't be read, a money cap that could not
// be kept because the model's price is unknown.
func (m *models) check() error {
	var errs, unpriced []error
	seen := map[string]bool{}
	for _, j := range m.plan.Jobs {
		if seen[j.Model] {
			continue
		}
		seen[j.Model] = true
		capped := j.Limits.CostUSD > 0 || m.plan.Budget.CostUSD > 0
		if _, ok := m.price(j); !ok && capped && !m.plan.AllowUnknownPrice {
			unpriced = append(unpriced, fmt.Errorf("the price of %s is unknown, so the limit on cost can't be kept: give it under prices:, or set allow_unknown_price: true", j.ModelName))
		}
		if _, err := m.open(j); err != nil {
			errs = append(errs, err)
		}
	}
	if len(unpriced) > 0 {
		return failure{event.ExitUsage, errors.Join(unpriced...)}
	}
	return errors.Join(errs...)
}

// warnings names the models whose cost can't be told.
func (m *models) warnings() []string {
	var list []string
	seen := map[string]bool{}
	for _, j := range m.plan.Jobs {
		if _, ok := m.price(j); !ok && !seen[j.ModelName] {
			seen[j.ModelName] = true
			list = append(list, fmt.Sprintf("the price of %s is unknown: its cost is reported as unknown (null)", j.ModelName))
		}
	}
	return list
}

// Open makes the model of a job; see [runner.Options].
func (m *models) Open(j tasks.Job, retry func(int, time.Duration, error)) (runner.Conversation, error) {
	c, err := m.open(j)
	if err != nil {
		return c, err
	}
	c.Model = model.Retrying(c.Model, model.DefaultRetryPolicy(), retry)
	if price, ok := m.price(j); ok {
		c.Model = model.Priced(c.Model, func(u model.Usage) (float64, bool) {
			return price.Cost(prices.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}), true
		})
	}
	return c, nil
}

func (m *models) open(j tasks.Job) (runner.Conversation, error) {
	kind, name, _ := strings.Cut(j.Model, ":")
	if kind == "script" {
		return m.openScript(name)
	}
	provider, name, _ := strings.Cut(j.Model, "/")
	if provider != "openai" {
		return runner.Conversation{}, fail(event.ExitUsage, "the provider %s is not supported yet", provider)
	}
	key := m.world.Getenv("OPENAI_API_KEY")
	if key == "" {
		return runner.Conversation{}, fail(event.ExitAuth, "%s needs a key: set OPENAI_API_KEY", j.ModelName)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wires[j.Model] == nil {
		m.wires[j.Model] = openai.New(openai.Options{
			BaseURL: m.world.Getenv("OPENAI_BASE_URL"), APIKey: key, Model: name, Now: m.world.Now,
		})
	}
	return runner.Conversation{Model: m.wires[j.Model]}, nil
}

// openScript starts a scripted model from its beginning; the file is read once.
func (m *models) openScript(path string) (runner.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.scripts[path]
	if s == nil {
		data, err := os.ReadFile(path)
		if err != nil {
			return runner.Conversation{}, fail(event.ExitUsage, "read the scripted model: %w", err)
		}
		if s, err = script.Parse(data, path); err != nil {
			return runner.Conversation{}, fail(event.ExitUsage, "%w", err)
		}
		m.scripts[path] = s
	}
	player, err := s.Player("")
	if err != nil {
		return runner.Conversation{}, fail(event.ExitUsage, "%w", err)
	}
	return runner.Conversation{Model: player, Finish: player.Finish}, nil
}

// price is what a job's model costs: the manifest's word, else the table's.
func (m *models) price(j tasks.Job) (prices.Price, bool) {
	if p, ok := m.plan.Prices[j.ModelName]; ok {
		price := prices.Price{Input: p.Input, Output: p.Output, CacheRead: p.Input, CacheWrite: p.Input}
		if p.CacheRead != nil {
			price.CacheRead = *p.CacheRead
		}
		if p.CacheWrite != nil {
			price.CacheWrite = *p.CacheWrite
		}
		return price, true
	}
	return prices.Of(j.Model)
}
