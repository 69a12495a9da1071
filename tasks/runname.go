package tasks

// anyRun is the id of the run for which a plan that uses it is hashed: the same task is the
// same in every run.
const anyRun = "00010101-000000-any"

// runNames has what the variables of the run stand for.
type runNames struct {
	id   string // see [Options]
	used bool   // a text has one of them
}

func (r *runNames) name() string {
	if r == nil {
		return ""
	}
	r.used = true
	return r.id
}

// date returns the day of the id, which starts with a time: 20260102-030405-1a2b3c4d.
func (r *runNames) date() string {
	if r.name(); r == nil || len(r.id) < 8 {
		return ""
	}
	return r.id[:4] + "-" + r.id[4:6] + "-" + r.id[6:8]
}
