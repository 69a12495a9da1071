package report

import "github.com/millhand/millhand/internal/event"

// Baseline is the result of a verify command before the agent started. It does not say
// which of several jobs ran the command, which is a matter of moments.
type Baseline struct {
	Name      string       `json:"name"`
	Passed    bool         `json:"passed"`
	ExitCode  int          `json:"exit_code"` // -1 if it was killed or never started
	ElapsedMS int64        `json:"elapsed_ms"`
	Tail      string       `json:"tail"` // as in event.Verify
	In        string       `json:"in"`
	Fault     *event.Fault `json:"fault"` // nil if the environment is not why it failed

	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // like OutputPath, as in event.Verify
	OutputPath string `json:"output_path,omitempty"` // of this job
}

// Exit describes how the command ended.
func (b *Baseline) Exit() string { return event.ExitText(b.ExitCode, b.TimeoutMS) }

func (j *job) takeBaseline(e event.Event) {
	if j.baselineIn != j.in { // a job that starts again repeats it
		j.baseline, j.baselineIn = nil, j.in
	}
	b := e.Baseline
	j.baseline = append(j.baseline, Baseline{b.Name, b.Passed, b.ExitCode, b.ElapsedMS, b.Tail, b.In, clone(b.Fault), b.TimeoutMS, b.OutputPath})
}

// Result describes how the command ended.
func (b *Baseline) Result() string {
	if b.Passed {
		return "passed"
	}
	return "failed, " + b.Exit()
}

// Output is as in event.Verify.
func (b *Baseline) Output() string { return event.Excerpt(b.Tail, b.OutputPath) }
