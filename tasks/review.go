package tasks

import "slices"

// Review is a review of a job's changes by a session that can only read, after verify passes.
type Review struct {
	Model  Model  // zero for those of the job
	Agent  string // never empty
	Prompt string // of the manifest's author, in addition to what the reviewer always gets; "" for none
	Block  bool   // the job fails unless the last verdict accepts its changes
}

// DefaultReviewer is the name of the agent that reviews, if the manifest names none.
const DefaultReviewer = "review"

// Models returns the models that sessions of the job itself may call, in the order in which they are named. Its subagents
// may have others.
func (j *Job) Models() []Model {
	all := append([]Model{{ID: j.Model, Name: j.ModelName}}, j.Fallback...)
	all = append(all, j.Escalate...)
	if j.Review != nil && j.Review.Model.ID != "" {
		all = append(all, j.Review.Model)
	}
	return slices.Clip(all)
}
