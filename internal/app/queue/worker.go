package queue

import (
	"context"
	"encoding/json"
	"sort"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Worker is what a worker shows of itself.
type Worker struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Slots   int       `json:"slots"`
	Jobs    []Running `json:"jobs"`
	Paused  string    `json:"paused,omitempty"` // why it claims nothing; "" if it does
	// Refused are runs whose jobs it does not claim, and why.
	Refused map[string]string `json:"refused,omitempty"`
	At      time.Time         `json:"at"` // when this was true
}

// Running is a job that a worker runs.
type Running struct {
	Run      string    `json:"run"`
	Job      string    `json:"job"`
	Delivery int       `json:"delivery"`
	Since    time.Time `json:"since"`
}

// Silence is how long after its last message a worker counts as gone.
const Silence = 15 * time.Second

// Show shows other processes what a worker does.
func (q *Queue) Show(ctx context.Context, w Worker) error {
	w.At = q.now().UTC()
	text, err := json.Marshal(w)
	if err == nil {
		_, err = q.state.Put(ctx, "worker."+w.ID, text)
	}
	return err
}

// Leave removes what a worker showed.
func (q *Queue) Leave(ctx context.Context, id string) error {
	return q.state.Purge(ctx, "worker."+id)
}

// Workers returns the workers that are not silent, by id. Those that are silent for an hour are
// removed. Only the server's clock decides: those of machines differ.
func (q *Queue) Workers(ctx context.Context) ([]Worker, error) {
	info, err := q.jobs.Info(ctx)
	if err != nil {
		return nil, err
	}
	now := info.TimeStamp
	if now.IsZero() { // of a server before 2.10
		now = q.now()
	}
	var all []Worker
	err = q.entries(ctx, "worker.*", func(entry jetstream.KeyValueEntry) error {
		var w Worker
		if json.Unmarshal(entry.Value(), &w) != nil {
			return nil //nolint:nilerr // somebody else's, or of another version
		}
		switch silent := now.Sub(entry.Created()); {
		case silent > time.Hour:
			return q.state.Purge(ctx, entry.Key())
		case silent < Silence:
			all = append(all, w)
		}
		return nil
	})
	sort.Slice(all, func(i, j int) bool { return all[i].ID < all[j].ID })
	return all, err
}

// entries calls fn for each entry of the state whose key matches.
func (q *Queue) entries(ctx context.Context, keys string, fn func(jetstream.KeyValueEntry) error) error {
	watcher, err := q.state.Watch(ctx, keys, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer watcher.Stop() //nolint:errcheck // read only
	for {
		select {
		case entry, open := <-watcher.Updates():
			if !open || entry == nil { // nil after the last one that exists
				return nil
			}
			if err := fn(entry); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
