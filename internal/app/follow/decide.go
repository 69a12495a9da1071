package follow

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Label is the label of pull requests that are left to people.
const Label = "needs-human"

// Settings bound what is done with each pull request.
type Settings struct {
	Conflict, Checks, Review bool // what is acted on
	Attempts                 int  // sessions
	CostUSD                  money.USD
	Stale                    time.Duration
}

// Check is a check of a commit.
type Check struct {
	Name            string
	Failed, Pending bool
	Log             string // its end; "" if the forge has none
	URL             string
}

// Remark is what a person with write access wrote.
type Remark struct {
	ID, Author, URL, Body string
	Path                  string // of the file that it is on; "" for none
	Line                  int
}

// Pull is a pull request as the forge describes it now.
type Pull struct {
	Closed   string // merged or closed; "" if it is open
	Labelled bool   // it has Label
	Ours     bool   // its head is a commit of the run
	Head     string // commit
	Conflict bool
	Checks   []Check // of the head
	Base     []Check // of the base
	Remarks  []Remark
	Updated  time.Time // last activity; zero if unknown
}

// Action is what to do with a pull request.
type Action string

// The actions.
const (
	Nothing  Action = "nothing"
	HandsOff Action = "hands off" // somebody else has pushed to the branch
	Stop     Action = "stop"      // set the label, and do no more
	Continue Action = "continue"  // a session that was killed, or not started
	Rebase   Action = "rebase"    // without a model first
	Fix      Action = "fix"       // failed checks, with a session
	Respond  Action = "respond"   // to remarks, with a session
)

// NothingToDo is the reason of [Nothing] for a pull request that is as it should be.
const NothingToDo = "nothing to do"

// Decision is what to do with a pull request, and why.
type Decision struct {
	Action    Action
	Reason    string
	Checks    []Check  // to fix
	Remarks   []Remark // to respond to
	Signature string   // of the failure
}

// Decide returns what to do with a pull request. The state must be that of [State.Resumed].
func Decide(p Pull, s State, set Settings, now time.Time) Decision {
	failed, red := NewFailures(p)
	switch {
	case p.Closed != "":
		return Decision{Action: Nothing, Reason: "it is " + p.Closed}
	case p.Labelled:
		return Decision{Action: Nothing, Reason: "it has the label " + Label}
	case s.Stopped != "":
		return Decision{Action: Nothing, Reason: s.Stopped}
	case s.Pending != nil:
		return Decision{Action: Continue}
	case !p.Ours:
		return Decision{Action: HandsOff, Reason: "its head is a commit of somebody else"}
	case set.Stale > 0 && !p.Updated.IsZero() && now.Sub(p.Updated) > set.Stale:
		return Decision{Action: Stop, Reason: fmt.Sprintf("no activity for %d days", int(now.Sub(p.Updated).Hours()/24))}
	case set.Conflict && p.Conflict:
		return Decision{Action: Rebase, Signature: "conflict " + p.Head}
	case set.Checks && len(failed) > 0 && !red:
		return session(Decision{Action: Fix, Checks: failed, Signature: Signature(failed)}, s, set)
	}
	if open := s.unhandled(p.Remarks); set.Review && len(open) > 0 {
		return session(Decision{Action: Respond, Remarks: open}, s, set)
	}
	switch {
	case set.Checks && red:
		return Decision{Action: Nothing, Reason: "its checks failed, and so did checks of the base"}
	case set.Checks && slices.ContainsFunc(p.Checks, func(c Check) bool { return c.Pending }):
		return Decision{Action: Nothing, Reason: "its checks have not completed"}
	}
	return Decision{Action: Nothing, Reason: NothingToDo}
}

// Conflicting returns what to do with a pull request whose commits could not be rebased.
func Conflicting(p Pull, s State, set Settings) Decision {
	return session(Decision{Action: Rebase, Signature: "conflict " + p.Head}, s, set)
}

// session returns a decision for a session, or why no one is started.
func session(d Decision, s State, set Settings) Decision {
	switch {
	case d.Signature != "" && slices.Contains(s.Signatures, d.Signature):
		return Decision{Action: Stop, Reason: "the same failure again after a fix", Signature: d.Signature}
	case s.Attempts >= set.Attempts:
		return Decision{Action: Stop, Reason: fmt.Sprintf("all attempts were used (%d)", s.Attempts), Signature: d.Signature}
	case set.CostUSD > 0 && s.CostUSD >= set.CostUSD:
		return Decision{Action: Stop, Reason: fmt.Sprintf("its sessions have cost %s of %s", money.Rounded(&s.CostUSD), money.Rounded(&set.CostUSD)), Signature: d.Signature}
	}
	return d
}

// NewFailures returns the failed checks of the head, unless some have not completed. red
// reports that a check of the base failed too: then they may have another cause.
func NewFailures(p Pull) (failed []Check, red bool) {
	for _, c := range p.Checks {
		if c.Pending {
			return nil, false
		}
		if c.Failed {
			failed = append(failed, c)
		}
	}
	sort.Slice(failed, func(i, j int) bool { return failed[i].Name < failed[j].Name })
	return failed, len(failed) > 0 && slices.ContainsFunc(p.Base, func(c Check) bool { return c.Failed })
}
