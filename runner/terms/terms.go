// Package terms describes to a model what a session can't find out without wasting calls: its network, its limits, and
// the commands that check the job. It limits nothing.
package terms

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/confinement"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/access"
)

// Limits of what the system prompt shows of a manifest's lists.
const (
	maxShownVerify = 10  // verify commands
	maxShownHosts  = 10  // hosts
	maxShownText   = 200 // bytes of one verify command
)

// Session is what the lines are about.
type Session struct {
	Profile permission.Profile
	Limits  tasks.Limits
	Scratch access.Scratch // of its commands
	Proxied bool           // commands reach the network through the proxy only
	Verify  []tasks.Verify // nil for a session of a subagent
}

// Lines returns the lines for the system prompt.
func (s Session) Lines() []string {
	var lines []string
	if !s.Profile.Hides("bash") {
		lines = append(lines, scratchText(s.Scratch))
	}
	if !s.Profile.Hides("bash") && s.Proxied {
		lines = append(lines, "network of commands: "+networkText(s.Profile))
	}
	if text := limitsText(s.Limits); text != "" {
		lines = append(lines, "limits: "+text)
	}
	return append(lines, verifyText(s.Verify)...)
}

// scratchText describes the private directories of commands. It has no paths, which
// would differ in each run.
func scratchText(s access.Scratch) string {
	text := "temporary files: $TMPDIR, in bash commands only; it persists while the job lasts"
	if len(s.Shown) > 0 {
		text += "; /tmp is private, too, and empty for each command"
	} else if len(s.Replaced) > 0 {
		text += "; /tmp is the same directory"
	}
	if s.Home != "" {
		text += "; HOME is a private directory"
	}
	return text
}

// networkText describes the network of a profile.
func networkText(p permission.Profile) string {
	switch {
	case !confinement.HasNetwork(p):
		return "none"
	case p.Network.Allow:
		return "public addresses, through the proxy in HTTP_PROXY"
	}
	hosts := p.Network.Hosts
	text := strings.Join(hosts[:min(len(hosts), maxShownHosts)], ", ")
	if more := len(hosts) - maxShownHosts; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "only " + text + ", through the proxy in HTTP_PROXY"
}

// limitsText lists the limits of a session; "" for none.
func limitsText(l tasks.Limits) string {
	var all []string
	if l.Turns > 0 {
		all = append(all, figures.Count(l.Turns, "turn"))
	}
	if l.Time > 0 {
		all = append(all, l.Time.String())
	}
	if l.CostUSD > 0 {
		all = append(all, fmt.Sprintf("$%s", l.CostUSD))
	}
	if l.Tokens > 0 {
		all = append(all, figures.Count(int(l.Tokens), "token"))
	}
	return strings.Join(all, ", ")
}

// verifyText lists the verify commands of a job, which run after its agent has answered.
func verifyText(commands []tasks.Verify) []string {
	if len(commands) == 0 {
		return nil
	}
	lines := []string{"after your final message these commands must pass; if one fails, you get its output and continue:"}
	for i, v := range commands {
		if i == maxShownVerify {
			lines = append(lines, fmt.Sprintf("and %d more", len(commands)-i))
			break
		}
		lines = append(lines, "`"+textcut.Head(textcut.OneLine(v.Run), maxShownText, "...")+"`")
	}
	return lines
}
