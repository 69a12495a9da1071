package manifest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// DefaultFollow returns the settings of a manifest without follow.
func DefaultFollow() tasks.Follow {
	f := form.WithDefaults(followKeys)
	f.On = followCauses()
	return f
}

func followCauses() []tasks.FollowCause {
	return []tasks.FollowCause{tasks.FollowConflict, tasks.FollowChecks, tasks.FollowReview}
}

func followKeys(f *tasks.Follow) form.Table {
	return form.Table{
		{Name: "on", Field: form.Into(&f.On, causesForm), Doc: "What to act on: conflict, checks, review (all if absent)"},
		{Name: "attempts", Field: form.Into(&f.Attempts, form.Between(1, maxFollowed)), Def: "2", Doc: "Sessions for one pull request"},
		{Name: "cost", Field: form.Into(&f.CostUSD, form.Cost), Def: "1.00", Doc: "Cost of the sessions for one pull request in USD"},
		{Name: "stale", Field: form.Into(&f.Stale, daysForm), Def: "30d", Doc: "Time without activity after which a pull request is left to people"},
	}
}

const maxFollowed = 100

var (
	causesForm = form.Of[[]tasks.FollowCause]{Type: form.ListOf(form.OneOf(followCauses())).Type, Read: readCauses}
	followForm = form.Of[*tasks.Follow]{Type: form.TypeOf(followKeys), Read: readFollow}
	// daysForm is the form of a duration that can be long: in days, too.
	daysForm = form.Of[time.Duration]{Type: form.Type{Name: "duration", Or: &form.Type{Name: "days"}}, Read: readDays}
)

func readFollow(v form.Value) (*tasks.Follow, bool) {
	f := DefaultFollow()
	followKeys(&f).Read(v)
	return &f, true
}

// readCauses reads a list that is not empty, without duplicates.
func readCauses(v form.Value) ([]tasks.FollowCause, bool) {
	list, ok := form.ListOf(form.OneOf(followCauses())).Read(v)
	if ok && len(v.Node.Content) == 0 {
		v.Problem(v.Label+" is empty", "write for example [checks], or remove it for all")
		return nil, false
	}
	slices.Sort(list)
	return slices.Compact(list), ok
}

// readDays reads a duration, which may be a number of days, such as 30d.
func readDays(v form.Value) (time.Duration, bool) {
	text, days := strings.CutSuffix(v.Node.Value, "d")
	n, err := strconv.Atoi(text)
	switch {
	case !v.IsScalar() || !days || err != nil:
		return form.ReadDuration(v)
	case n < 1 || n > maxDays:
		v.Problem(v.Label+" must be from 1d to "+strconv.Itoa(maxDays)+"d", "write for example 30d")
		return 0, false
	}
	return time.Duration(n) * 24 * time.Hour, true
}

const maxDays = 3650
