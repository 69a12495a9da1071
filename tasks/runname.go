package tasks

import "context"

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

// hashForAnyRun gives a plan that names its run, and its jobs, the hashes that they have in every run.
func hashForAnyRun(p *Plan, ctx context.Context, paths []string, o Options) error {
	o.RunID = anyRun
	same, err := load(ctx, paths, o)
	if err != nil {
		return err
	}
	p.Hash = same.Hash
	for i := range p.Jobs {
		p.Jobs[i].Hash = same.Jobs[i].Hash
	}
	return nil
}
