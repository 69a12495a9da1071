// Package queued has the state of a run whose jobs are in a queue, and the parts that package merge writes its reports
// from: the events and files of its jobs, which it trusts only as far as they agree with the run. It also has what
// package submission and package worker share: the connection ([Connect]), the options of a run ([Options]) and archives
// of the files of a job ([Pack], [Unpack]). It runs no job.
package queued

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// State is the state of a queued run.
type State struct {
	Run       string                `json:"run"`
	Manifest  []string              `json:"manifest"`
	Submitted time.Time             `json:"submitted"`
	State     string                `json:"state"` // running, cancelled or ended
	Jobs      Counts                `json:"jobs"`
	Outcomes  map[event.Outcome]int `json:"outcomes"`     // of jobs that have ended
	Spent     *money.USD            `json:"spent_usd"`    // null if unknown
	Reserved  *money.USD            `json:"reserved_usd"` // for requests in flight; null if unknown
	MaxCost   *money.USD            `json:"max_cost_usd"` // null without a limit
	// Remaining is the expected time until the last job ends, in milliseconds; null if unknown.
	Remaining *int64         `json:"remaining_ms"`
	Running   []Running      `json:"running"`
	Workers   []queue.Worker `json:"workers"` // all of the server
	// Invalid is why the cost is unknown: somebody else has written the record of the budget.
	Invalid string `json:"invalid,omitempty"`
}

// Counts are the jobs of a run by their state.
type Counts struct {
	Total   int `json:"total"`
	Waiting int `json:"waiting"` // for a worker, or for jobs that they need
	Running int `json:"running"`
	Ended   int `json:"ended"`
}

// Running is a job that a worker runs.
type Running struct {
	queue.Running
	Worker string `json:"worker"`
	Host   string `json:"host"`
}

// States returns the state of a run, and with watch those after changes too, until the run has ended.
func States(ctx context.Context, w world.World, q *queue.Queue, r *queue.Run, watch bool) iter.Seq2[*State, error] {
	return func(yield func(*State, error) bool) {
		last := ""
		for {
			began := w.Now()
			s, err := StateOf(ctx, began, q, r)
			if err != nil {
				yield(nil, fault.New(event.ExitUnavailable, "%w", err))
				return
			}
			if now := fmt.Sprint(s.Jobs, s.cost(), len(s.Workers)); now != last {
				last = now
				if !yield(s, nil) {
					return
				}
			}
			if !watch || s.State == "ended" || s.State == "cancelled" && s.Jobs.Running == 0 {
				return
			}
			if err := clock.Wait(ctx, pause(w.Now().Sub(began))); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// StateOf collects the state of a run.
func StateOf(ctx context.Context, now time.Time, q *queue.Queue, r *queue.Run) (*State, error) {
	results, err := q.Results(ctx, r)
	if err != nil {
		return nil, err
	}
	workers, err := q.Workers(ctx)
	if err != nil {
		return nil, err
	}
	sums, limit, err := q.Money(ctx, r.ID)
	unknown := err
	if err != nil && !errors.Is(err, queue.ErrInvalid) {
		return nil, err
	}
	cancelled, err := q.Cancelled(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	s := &State{
		Run: r.ID, Manifest: r.Manifests, Submitted: r.Submitted, State: "running", Outcomes: map[event.Outcome]int{},
		Running: []Running{}, Workers: append([]queue.Worker{}, workers...),
	}
	if unknown == nil {
		s.Spent, s.Reserved = &sums.Spent, &sums.Reserved
	} else {
		s.Invalid = unknown.Error()
	}
	if limit > 0 {
		s.MaxCost = &limit
	}
	ended := map[string]bool{}
	for key, result := range results {
		s.Outcomes[result.End.Outcome]++
		ended[r.Jobs[r.Index(key)].ID] = true
	}
	slots := 0
	for _, worker := range workers {
		slots += worker.Slots
		for _, j := range worker.Jobs {
			if j.Run == r.ID && !ended[j.Job] {
				s.Running = append(s.Running, Running{Running: j, Worker: worker.ID, Host: worker.Host})
			}
		}
	}
	s.Jobs = Counts{Total: len(r.Jobs), Running: len(s.Running), Ended: len(results)}
	s.Jobs.Waiting = max(s.Jobs.Total-s.Jobs.Ended-s.Jobs.Running, 0)
	switch {
	case cancelled != "":
		s.State = "cancelled"
	case s.Jobs.Ended == s.Jobs.Total:
		s.State = "ended"
	default:
		s.Remaining = remaining(now.Sub(r.Submitted), s.Jobs, slots)
	}
	return s, nil
}

// remaining is the expected time until the last job ends, if the others take as long as those
// that have ended; nil if it is unknown.
func remaining(elapsed time.Duration, jobs Counts, slots int) *int64 {
	if jobs.Ended == 0 || slots == 0 {
		return nil
	}
	ms := elapsed.Milliseconds() * int64(jobs.Total-jobs.Ended) / int64(jobs.Ended)
	return &ms
}

// cost describes the cost of a run and its limit.
func (s *State) cost() string {
	if s.Spent == nil {
		return "cost unknown: " + printable.Line(s.Invalid, 200)
	}
	text := "cost $" + s.Spent.String()
	if *s.Reserved > 0 {
		text += fmt.Sprintf(", $%s reserved for requests in flight", *s.Reserved)
	}
	if s.MaxCost != nil {
		text += fmt.Sprintf(", of at most $%s", *s.MaxCost)
	}
	return text
}

// Print prints the state of a run for people.
func (s *State) Print(out io.Writer, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s: %s, submitted %s ago\n", s.Run, s.State, figures.Duration(now.Sub(s.Submitted).Milliseconds()))
	fmt.Fprintf(&b, "%s: %d ended%s, %d running, %d waiting", figures.Count(s.Jobs.Total, "job"), s.Jobs.Ended, outcomesOf(s.Outcomes), s.Jobs.Running, s.Jobs.Waiting)
	if s.Remaining != nil {
		fmt.Fprintf(&b, "; about %s left", figures.Duration(*s.Remaining))
	}
	b.WriteString("\n" + s.cost() + "\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(s.Running) > 0 {
		fmt.Fprintln(t, "\nJOB\tDELIVERY\tFOR\tWORKER\tHOST")
		for _, j := range s.Running {
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", line(j.Job), j.Delivery, figures.Duration(now.Sub(j.Since).Milliseconds()), line(j.Worker), line(j.Host))
		}
	}
	if len(s.Workers) > 0 {
		fmt.Fprintln(t, "\nWORKER\tHOST\tJOBS\tSTATE")
	}
	for _, k := range s.Workers {
		state := "claims jobs"
		if why := k.Refused[s.Run]; why != "" {
			state = "refuses this run: " + why
		} else if k.Paused != "" {
			state = "paused: " + k.Paused
		}
		fmt.Fprintf(t, "%s\t%s\t%d of %d\t%s\n", line(k.ID), line(k.Host), len(k.Jobs), k.Slots, printable.Line(state, 200))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.Workers) == 0 {
		b.WriteString("\nno workers\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// line makes text of a worker safe in a line of a table.
func line(text string) string { return printable.Line(text, printable.Width) }

// outcomesOf lists outcomes with their numbers.
func outcomesOf(counts map[event.Outcome]int) string {
	var list []string
	for outcome, n := range counts {
		list = append(list, fmt.Sprintf("%d %s", n, line(string(outcome))))
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return " (" + strings.Join(list, ", ") + ")"
}
