package template

// AnyRun is the id of the run for which a plan that uses it is hashed: the same task is the
// same in every run.
const AnyRun = "00010101-000000-any"

// RunNames has what the variables of the run stand for.
type RunNames struct {
	ID   string // see [tasks.Options]
	Used bool   // a text has one of them
}

func (r *RunNames) name() string {
	if r == nil {
		return ""
	}
	r.Used = true
	return r.ID
}

// date returns the day of the id, which starts with a time: 20260102-030405-1a2b3c4d.
func (r *RunNames) date() string {
	if r.name(); r == nil || len(r.ID) < 8 {
		return ""
	}
	return r.ID[:4] + "-" + r.ID[4:6] + "-" + r.ID[6:8]
}
