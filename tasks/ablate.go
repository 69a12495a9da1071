package tasks

import "time"

// Ablate is how the hunks of a job's change are accounted for after verify passes. The zero value is for a job without it.
type Ablate struct {
	Time     time.Duration // of all trials after an attempt
	Jobs     int           // trials that run concurrently
	Unneeded Unneeded      `json:",omitempty"`
}

// Unneeded is what becomes of hunks that no verify command needs, and of tests that pass without the change.
type Unneeded string

// The values of Unneeded; "" only reports them.
const (
	UnneededWarn Unneeded = "warn"
	UnneededFail Unneeded = "fail" // they are returned to the agent like a failed verify
)
