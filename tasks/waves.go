package tasks

import (
	"strconv"

	"github.com/millhand/millhand/internal/money"
)

// Rollout divides the jobs of a plan into waves, each of which a separate run executes. Zero
// values mean: no condition, and no limit.
type Rollout struct {
	Canary  []string   // names of repositories: their jobs are the first wave
	Waves   []WaveSize // the remaining jobs are another wave
	Advance Advance
	Stop    StopLoss

	// Limits of the pull requests of all runs with the plan's name.
	MaxOpen   int // that are open
	PerHour   int // created in the last 60 minutes
	CIMinutes int // of the checks of their heads
}

// CountsPulls reports whether the forge must be asked for pull requests.
func (r *Rollout) CountsPulls() bool {
	return r.MaxOpen > 0 || r.PerHour > 0 || r.CIMinutes > 0 || r.Advance.Checks > 0 || r.Advance.Merged > 0
}

// WaveSize is how many jobs have been started after a wave, with those of the waves before:
// Jobs, or a share of all jobs.
type WaveSize struct {
	Jobs  int
	Share Share
}

// Of returns the number of a plan's jobs. A share is rounded up.
func (s WaveSize) Of(jobs int) int {
	if s.Jobs > 0 {
		return min(s.Jobs, jobs)
	}
	return s.Share.Of(jobs)
}

func (s WaveSize) String() string {
	if s.Jobs > 0 {
		return strconv.Itoa(s.Jobs)
	}
	return s.Share.String()
}

// Share is a percentage, in hundredths of a percent.
type Share int

// Of returns the share of a number, rounded up.
func (s Share) Of(n int) int { return int((int64(n)*int64(s) + 9999) / 10000) }

func (s Share) String() string { return strconv.FormatFloat(float64(s)/100, 'f', -1, 64) + "%" }

// Advance is what must hold of a wave before the next one is started.
type Advance struct {
	Passed   Share // of the finished jobs
	Checks   Share // of the finished jobs: the checks of their pull requests passed
	Merged   int   // pull requests
	Forecast money.USD
}

// StopLoss is what stops a wave.
type StopLoss struct {
	Failed     Share // of the finished jobs
	Denied     int   // jobs that a policy ended
	CostPerJob money.USD
}
