package outlook

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report/rollouttext"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
)

// waveDocument is the JSON form of a plan's rollout.
type waveDocument struct {
	Waves      []admission.WaveState `json:"waves"`
	Conditions []event.Condition     `json:"conditions"` // of the wave after the present one
	Exceeded   []event.Condition     `json:"exceeded"`   // limits that stop the rollout
}

// planWaves are the waves of a plan and what has been done of them.
type planWaves world.Outlook

// plannedWaves reads the saved runs of a plan with a rollout, or those that the command line names. The forge is asked
// only with --check.
func plannedWaves(ctx context.Context, w world.World, o Options, plan *tasks.Plan) (planWaves, error) {
	if plan.Rollout == nil && len(o.After) == 0 {
		return planWaves{Next: plan}, nil
	}
	rollouts, err := w.WithRollouts()
	if err != nil {
		return planWaves{}, err
	}
	all, err := rollouts.Outlook(ctx, w, plan, world.Earlier{Dir: o.Plan.In(w), After: o.After}, o.Check)
	return planWaves(all), err
}

// note notes the jobs that the next run does not execute.
func (p planWaves) note(notes map[string]note) {
	next := map[string]bool{}
	for _, j := range p.Next.Jobs {
		next[j.ID] = true
	}
	for _, s := range p.Waves {
		for _, id := range s.Jobs {
			if !next[id] {
				notes[id] = note{Action: "skip", Reason: fmt.Sprintf("wave %d (%s)", s.Wave, s.State), Code: string(event.CodeRollout)}
			}
		}
	}
}

func (p planWaves) describe(doc *planDocument) {
	doc.Forecast = p.Forecast
	if at := p.Rollout; at != nil {
		doc.Rollout = &waveDocument{Waves: p.Waves, Conditions: at.Conditions, Exceeded: at.Exceeded}
	}
}

// print prints the waves, the conditions of the next one and the forecast.
func (p planWaves) print(out io.Writer) error {
	if p.Rollout == nil && p.Forecast == nil {
		return nil
	}
	fmt.Fprintln(out)
	if p.Rollout == nil {
		_, err := fmt.Fprintln(out, rollouttext.Forecast(p.Forecast))
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WAVE\tJOBS\tFINISHED\tPASSED\tFAILED\tSTATE")
	for _, s := range p.Waves {
		name := fmt.Sprint(s.Wave)
		if s.Canary {
			name += " (canary)"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", name, len(s.Jobs), s.Finished, s.Passed, s.Failed, s.State)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range rollouttext.Lines(p.Rollout) {
		if _, err := fmt.Fprintln(out, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}
