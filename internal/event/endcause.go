package event

// EndCause is the cause of a context that ends a session, a job or a run by itself: a time limit that is exceeded, or a
// fault of the machine or a program. Whoever ends the context sets it.
type EndCause struct {
	Code   Code
	Reason string
}

// Error returns the reason.
func (c EndCause) Error() string { return c.Reason }

// Interrupt is the cause of a context that was cancelled by a signal.
type Interrupt struct {
	Signal string // its name, for example SIGINT
	Exit   Exit
}

// Error names the signal.
func (i Interrupt) Error() string { return "interrupted by " + i.Signal }
