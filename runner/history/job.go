package history

// Job is what earlier processes did of a job, and what this one does.
type Job struct {
	*Facts // nil for nothing
	Intent Intent

	keepDescription bool
}

// followUp returns the follow-up prompt of the job, which may be about a rebase.
func (j Job) followUp() (do FollowUp, found bool) {
	switch do := j.Intent.(type) {
	case FollowUp:
		return do, true
	case Rebase:
		return do.FollowUp, true
	}
	return FollowUp{}, false
}

// FollowsUp reports whether the job gets another prompt after its end.
func (j Job) FollowsUp() bool {
	_, found := j.followUp()
	return found
}

// Asked returns the prompt that the job works on instead of that of its task; "" for none.
func (j Job) Asked() string {
	do, _ := j.followUp()
	switch {
	case do.Prompt != "" && do.Replacing == "":
		return do.Prompt
	case j.Facts != nil && j.Fork != nil:
		return j.Fork.Prompt
	}
	return ""
}
