package follow

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/textcut"
)

// State is what earlier passes did with a pull request.
type State struct {
	Attempts   int       `json:"attempts"` // sessions, since a person took the label off
	CostUSD    money.USD `json:"cost_usd"` // likewise
	Signatures []string  `json:"signatures,omitempty"`
	Handled    []string  `json:"handled,omitempty"` // ids of remarks
	Entries    []Entry   `json:"entries,omitempty"`
	Pending    *Pending  `json:"pending,omitempty"` // nil if no session is in progress
	Stopped    string    `json:"stopped,omitempty"` // why; "" if it is not
	Unlabelled bool      `json:"unlabelled,omitempty"`
}

// Entry is a line for people: what was found, and what was done.
type Entry struct {
	What string `json:"what"`
	URL  string `json:"url,omitempty"` // of a remark
	Done string `json:"done"`
}

// Pending is a session that was decided. It is stored before the session starts, so that
// a kill does not lose it.
type Pending struct {
	Action   Action    `json:"action"`
	Head     string    `json:"head"`
	Checks   []string  `json:"checks,omitempty"`  // names
	Remarks  []Quoted  `json:"remarks,omitempty"` //
	Attempts int       `json:"attempts"`          // of the job before
	CostUSD  money.USD `json:"cost_usd"`          // likewise
}

// Quoted is a remark in a [Pending].
type Quoted struct {
	ID     string `json:"id"`
	Author string `json:"author"`
	URL    string `json:"url"`
}

const (
	statePrefix = "<!-- millhand-state: "
	stateSuffix = " -->"
	maxEntries  = 40
	maxText     = 300 // of a line, in bytes
)

// Parse returns the state in a comment; the zero value if it has none.
func Parse(comment string) State {
	var s State
	from := strings.LastIndex(comment, statePrefix) // texts before it can quote another
	if from < 0 {
		return s
	}
	text, _, closed := strings.Cut(comment[from+len(statePrefix):], stateSuffix)
	if !closed {
		return s
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return State{}
	}
	s.Attempts, s.CostUSD = max(0, s.Attempts), max(0, s.CostUSD) // less would permit more than the limits
	if p := s.Pending; p != nil {
		p.Attempts, p.CostUSD = max(0, p.Attempts), max(0, p.CostUSD)
	}
	return s
}

// Resumed returns the state after a person has taken the label off: they have asked for more.
func (s State) Resumed(labelled bool) State {
	if s.Stopped == "" || labelled || s.Unlabelled {
		return s
	}
	s.Stopped, s.Attempts, s.CostUSD, s.Signatures = "", 0, 0, nil
	return s
}

// Begin records a session before it starts. attempts and cost are those of the job before.
func (s State) Begin(d Decision, p Pull, attempts int, cost money.USD) State {
	s.Attempts++
	if d.Signature != "" {
		s.Signatures = append(slices.Clone(s.Signatures), d.Signature)
	}
	s.Pending = &Pending{Action: d.Action, Head: p.Head, Attempts: attempts, CostUSD: cost}
	for _, c := range d.Checks {
		s.Pending.Checks = append(s.Pending.Checks, c.Name)
	}
	for _, r := range d.Remarks {
		s.Pending.Remarks = append(s.Pending.Remarks, Quoted{r.ID, r.Author, r.URL})
	}
	return s
}

// Abort forgets a session that did not start.
func (s State) Abort() State {
	if s.Pending == nil {
		return s
	}
	if s.Pending.Action != Respond && len(s.Signatures) > 0 {
		s.Signatures = slices.Clone(s.Signatures[:len(s.Signatures)-1])
	}
	s.Pending, s.Attempts = nil, max(0, s.Attempts-1)
	return s
}

// Outcome is how a session ended.
type Outcome struct {
	Commit  string    // that was pushed; "" for none
	Final   string    // message of the agent
	Problem string    // why nothing was pushed; "" if nothing was to be
	CostUSD money.USD // of the job since it started
}

// Finish records the end of a session.
func (s State) Finish(o Outcome) State {
	p := s.Pending
	if p == nil {
		return s
	}
	s.Pending = nil
	if o.CostUSD > p.CostUSD {
		s.CostUSD = s.CostUSD.Add(o.CostUSD.Sub(p.CostUSD))
	}
	done := "no change"
	switch {
	case o.Commit != "":
		done = fmt.Sprintf("done in %.10s", o.Commit)
	case o.Problem != "":
		done = "not done: " + o.Problem
	}
	switch p.Action { //nolint:exhaustive // others have no session
	case Rebase:
		s = s.With("conflict with the base", done)
	case Fix:
		s = s.With("failed: "+strings.Join(p.Checks, ", "), done)
	case Respond:
		said := reported(o.Final)
		for _, r := range p.Remarks {
			s.Handled = append(slices.Clip(s.Handled), r.ID)
			text := done
			if said[r.ID] != "" && o.Problem == "" {
				text = said[r.ID]
			}
			s = s.With("comment of "+r.Author, text)
			s.Entries[len(s.Entries)-1].URL = r.URL
		}
	}
	return s
}

// With adds a line for people.
func (s State) With(what, done string) State {
	e := Entry{What: textcut.Head(what, maxText, "…"), Done: textcut.Head(textcut.OneLine(done), maxText, "…")}
	s.Entries = append(slices.Clone(s.Entries), e)
	s.Entries = s.Entries[max(0, len(s.Entries)-maxEntries):]
	return s
}

var reportLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[\s*-]*` + "`?" + `([crv][0-9]+)` + "`?" + `:\s*(done|declined):\s*(.+)$`)
})

// reported returns what the agent reported about each remark.
func reported(final string) map[string]string {
	said := map[string]string{}
	for _, m := range reportLine().FindAllStringSubmatch(final, -1) {
		said[m[1]] = strings.ToLower(m[2]) + ": " + strings.TrimSpace(m[3])
	}
	return said
}

func (s State) unhandled(all []Remark) []Remark {
	return slices.DeleteFunc(slices.Clone(all), func(r Remark) bool { return slices.Contains(s.Handled, r.ID) })
}

// Text returns the comment: lines for people, and the state. clean makes untrusted text one
// harmless line.
func (s State) Text(job string, set Settings, clean func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**millhand follow** · job %s · %d of %d attempts · %s\n", clean(job), s.Attempts, set.Attempts, money.Rounded(&s.CostUSD))
	if len(s.Entries) > 0 {
		b.WriteString("\n| found | result |\n|---|---|\n")
	}
	for _, e := range s.Entries {
		what := clean(e.What)
		if u, err := url.Parse(e.URL); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil {
			what = "[" + what + "](" + strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C").Replace(u.String()) + ")"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", what, clean(e.Done))
	}
	if s.Pending != nil {
		b.WriteString("\nA session is in progress.\n")
	}
	if s.Stopped != "" {
		fmt.Fprintf(&b, "\nStopped: %s. Remove the label `%s` to continue.\n", clean(s.Stopped), Label)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return b.String()
	}
	return b.String() + "\n" + statePrefix + base64.StdEncoding.EncodeToString(data) + stateSuffix
}
