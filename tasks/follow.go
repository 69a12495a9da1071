package tasks

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// FollowCause is what "millhand follow" acts on.
type FollowCause string

// The causes.
const (
	FollowConflict FollowCause = "conflict" // with the base of the pull request
	FollowChecks   FollowCause = "checks"   // that failed
	FollowReview   FollowCause = "review"   // comments of people with write access
)

// Follow has the settings of "millhand follow", which hold for each pull request.
type Follow struct {
	On       []FollowCause
	Attempts int       // sessions
	CostUSD  money.USD // of all sessions
	Stale    time.Duration
}

// DefaultFollow returns the settings of a manifest without follow.
func DefaultFollow() Follow {
	f := withDefaults((*Follow).keys)
	f.On = followCauses()
	return f
}

func followCauses() []FollowCause {
	return []FollowCause{FollowConflict, FollowChecks, FollowReview}
}

func (f *Follow) keys() keys {
	return keys{
		{"on", into(&f.On, causesForm), "", "What to act on: conflict, checks, review (all if absent)"},
		{"attempts", into(&f.Attempts, between(1, maxFollowed)), "2", "Sessions for one pull request"},
		{"cost", into(&f.CostUSD, costForm), "1.00", "Cost of the sessions for one pull request in USD"},
		{"stale", into(&f.Stale, daysForm), "30d", "Time without activity after which a pull request is left to people"},
	}
}

const maxFollowed = 100

var (
	causesForm = form[[]FollowCause]{listOf(oneOf(followCauses())).Type, readCauses}
	followForm = form[*Follow]{typeOf((*Follow).keys), readFollow}
	// daysForm is the form of a duration that can be long: in days, too.
	daysForm = form[time.Duration]{Type{Name: "duration", Or: &Type{Name: "days"}}, readDays}
)

func readFollow(v value) (*Follow, bool) {
	f := DefaultFollow()
	f.keys().read(v)
	return &f, true
}

// readCauses reads a list that is not empty, without duplicates.
func readCauses(v value) ([]FollowCause, bool) {
	list, ok := listOf(oneOf(followCauses())).read(v)
	if ok && len(list) == 0 {
		v.problem(v.name+" is empty", "write for example [checks], or remove it for all")
		return nil, false
	}
	slices.Sort(list)
	return slices.Compact(list), ok
}

// readDays reads a duration, which may be a number of days, such as 30d.
func readDays(v value) (time.Duration, bool) {
	text, days := strings.CutSuffix(v.node.Value, "d")
	n, err := strconv.Atoi(text)
	switch {
	case !v.isScalar() || !days || err != nil:
		return readDuration(v)
	case n < 1 || n > maxDays:
		v.problem(v.name+" must be from 1d to "+strconv.Itoa(maxDays)+"d", "write for example 30d")
		return 0, false
	}
	return time.Duration(n) * 24 * time.Hour, true
}

const maxDays = 3650

// planFollow returns the settings of all manifests: the strictest of those that have them.
func planFollow(manifests []*manifest) *Follow {
	var all *Follow
	for _, m := range manifests {
		if m.follow == nil {
			continue
		}
		if all == nil {
			all = new(*m.follow)
			continue
		}
		all.On = slices.DeleteFunc(slices.Clone(all.On), func(c FollowCause) bool { return !slices.Contains(m.follow.On, c) })
		all.Attempts, all.CostUSD, all.Stale = lower(all.Attempts, m.follow.Attempts), lower(all.CostUSD, m.follow.CostUSD), lower(all.Stale, m.follow.Stale)
	}
	return all
}
