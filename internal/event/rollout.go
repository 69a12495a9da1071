package event

import "github.com/millhand/millhand/internal/money"

// Outcomes of runs only.
const (
	Waiting Outcome = "waiting" // of a rollout: waves remain
	Stopped Outcome = "stopped" // of a rollout: a limit under stop was exceeded
)

// Rollout is the position of a run in the rollout of its manifest. The event run.started has
// it without results.
type Rollout struct {
	Name  string `json:"name"`  // of the manifest: all runs with it are one rollout
	Wave  int    `json:"wave"`  // from 1; 0 if all waves were complete before
	Waves int    `json:"waves"` // with jobs
	Jobs  int    `json:"jobs"`  // of the wave
	Total int    `json:"total"` // jobs of all waves

	// Results of the wave, with those of earlier runs. Jobs whose base is red are in none of
	// the counts except BaseRed.
	Finished int        `json:"finished"` // Passed and Failed
	Passed   int        `json:"passed"`
	Failed   int        `json:"failed"`
	Denied   int        `json:"denied"`   // of Failed: by a policy
	BaseRed  int        `json:"base_red"` // ended by the baseline or the environment
	CostUSD  *money.USD `json:"cost_usd"` // of the finished jobs; nil if unknown

	Conditions []Condition `json:"conditions"` // of the manifest's rollout.advance, in order
	Exceeded   []Condition `json:"exceeded"`   // what stopped the rollout, or holds it back
	Forecast   *Forecast   `json:"forecast"`   // nil if nothing remains
}

// Condition is a condition of a rollout with the figure that decided.
type Condition struct {
	Key   string `json:"key"`   // of the manifest, such as rollout.advance.passed
	Limit string `json:"limit"` // its value
	Value string `json:"value"` // the figure
	Met   bool   `json:"met"`
}

// Forecast is what the jobs of a plan cost that have not finished.
type Forecast struct {
	Sample    int        `json:"sample"`     // finished jobs that it is made from
	Rest      int        `json:"rest"`       // jobs that have not finished
	CostUSD   *money.USD `json:"cost_usd"`   // expected, of the rest; nil if the sample is too small
	ElapsedMS *int64     `json:"elapsed_ms"` // likewise
	// BoundUSD is what all jobs together cost at most, with a probability of Confidence; nil
	// if the sample is too small, or the jobs have no cost limit.
	BoundUSD   *money.USD `json:"bound_usd"`
	Confidence float64    `json:"confidence"`
}
