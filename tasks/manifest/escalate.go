package manifest

// KeepOnEscalate is what the next model of a task starts from.
type KeepOnEscalate string

// The values of KeepOnEscalate.
const (
	KeepDiff KeepOnEscalate = "diff"
	KeepBase KeepOnEscalate = "base"
)
