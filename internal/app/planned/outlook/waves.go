package outlook

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/waves"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report/rollouttext"
	"github.com/millhand/millhand/runner/rollout"
	"github.com/millhand/millhand/tasks"
)

// waveDocument is the JSON form of a plan's rollout.
type waveDocument struct {
	Waves      []rollout.Status  `json:"waves"`
	Conditions []event.Condition `json:"conditions"` // of the wave after the present one
	Exceeded   []event.Condition `json:"exceeded"`   // limits that stop the rollout
}

// planWaves are the waves of a plan and what has been done of them; nil without a rollout
// and without saved runs.
type planWaves struct {
	rollout *rollout.Rollout
	waves   bool // the plan has a rollout, not only saved runs
}

// plannedWaves reads the saved runs of a plan. The forge is asked only with --check.
func plannedWaves(ctx context.Context, w world.World, o Options, plan *tasks.Plan) (*planWaves, error) {
	if plan.Rollout == nil && len(o.After) == 0 {
		return nil, nil
	}
	saved, err := waves.Find(w, o.Plan.In(w), plan.Name, "", o.After, "")
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	if plan.Rollout == nil { // only what was named counts
		saved.OnlyNamed()
	}
	r, err := waves.Open(ctx, w, plan, saved, o.Check)
	if err != nil {
		return nil, err
	}
	return &planWaves{r, plan.Rollout != nil}, nil
}

// next returns the plan with the jobs of its next run only.
func (p *planWaves) next(plan *tasks.Plan) *tasks.Plan {
	if p == nil || !p.waves {
		return plan
	}
	return plan.Wave(p.rollout.Selects)
}

// note notes the jobs that the next run does not execute.
func (p *planWaves) note(notes map[string]note) {
	if p == nil || !p.waves {
		return
	}
	for _, s := range p.rollout.Waves() {
		for _, id := range s.Jobs {
			if !p.rollout.Selects(id) {
				notes[id] = note{Action: "skip", Reason: fmt.Sprintf("wave %d (%s)", s.Wave, s.State), Code: string(event.CodeRollout)}
			}
		}
	}
}

func (p *planWaves) describe(doc *planDocument) {
	if p == nil {
		return
	}
	doc.Forecast = p.rollout.Forecast()
	if p.waves {
		at := p.rollout.Judgment()
		doc.Rollout = &waveDocument{Waves: p.rollout.Waves(), Conditions: at.Conditions, Exceeded: at.Exceeded}
	}
}

// print prints the waves, the conditions of the next one and the forecast.
func (p *planWaves) print(out io.Writer) error {
	if p == nil {
		return nil
	}
	fmt.Fprintln(out)
	if !p.waves {
		_, err := fmt.Fprintln(out, rollouttext.Forecast(p.rollout.Forecast()))
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WAVE\tJOBS\tFINISHED\tPASSED\tFAILED\tSTATE")
	for _, s := range p.rollout.Waves() {
		name := fmt.Sprint(s.Wave)
		if s.Canary {
			name += " (canary)"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", name, len(s.Jobs), s.Finished, s.Passed, s.Failed, s.State)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range rollouttext.Lines(p.rollout.Judgment()) {
		if _, err := fmt.Fprintln(out, printable.Text(line)); err != nil {
			return err
		}
	}
	return nil
}
