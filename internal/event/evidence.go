package event

import "github.com/millhand/millhand/internal/money"

// Evidence is in run.started of a run whose manifest has evidence: its events are chained.
type Evidence struct {
	Sign      string          `json:"sign"`                // none or ssh
	Manifests []PolicyFile    `json:"manifests,omitempty"` // in the order of run.manifest
	Caps      map[string]Caps `json:"caps"`                // by job
}

// Caps are the limits of a job; 0 for no limit.
type Caps struct {
	CostUSD money.USD `json:"cost_usd,omitempty"` // limits.cost
	Turns   int       `json:"turns,omitempty"`    // limits.turns
	Tokens  int64     `json:"tokens,omitempty"`   // limits.tokens
	TimeMS  int64     `json:"time_ms,omitempty"`  // limits.time
	Denials int       `json:"denials,omitempty"`  // limits.denials
}

// Seal is the payload of sealed: what the run has left, after its reports were written.
type Seal struct {
	Sign      string            `json:"sign"`       // none or ssh
	Heads     map[string]string `json:"heads"`      // by job: the SHA-256 of its last line
	Files     []SealedFile      `json:"files"`      // of the report directory, in the order of their names
	Manifests []PolicyFile      `json:"manifests"`  // as at the start
	Policies  []PolicyFile      `json:"policies"`   // as at the start
	Models    []string          `json:"models"`     // that responded, in the order of their names
	StartedBy *StartedBy        `json:"started_by"` // nil outside of CI
}

// SealedFile is a file of the report directory.
type SealedFile struct {
	Name   string `json:"name"`   // slash separated
	SHA256 string `json:"sha256"` // in hexadecimal
	Bytes  int64  `json:"bytes"`  // its size
}
