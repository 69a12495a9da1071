package tasks

// Requests is which changes of the forge an agent may request in its final message.
type Requests struct {
	Labels      []string // that it may add: names, in which * stands for any text
	TitlePrefix string   // of issues
	// The maximum numbers; 0 for none.
	MaxLabels, MaxIssues, MaxComments int
	Thread                            Thread // of the event, for labels and comments; zero for the job's own pull request
	Skip                              string `json:",omitempty"` // why none is made; "" if they are
}

// Made reports whether requests can be made; nil allows none.
func (r *Requests) Made() bool { return r != nil && r.Skip == "" }

// NeedThread reports whether requests need an issue or pull request.
func (r Requests) NeedThread() bool { return r.MaxLabels+r.MaxComments > 0 }

// Thread is the issue or pull request of an event.
type Thread struct {
	Repo   string // OWNER/NAME, as the event has it
	Number int64
	Issue  bool // false: a pull request
}
