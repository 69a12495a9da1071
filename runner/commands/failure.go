package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/envfault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
)

// FaultOf returns why the environment made a command fail; nil if it did not.
func FaultOf(line string, v Ran) *event.Fault {
	f, ok := envfault.Find(line, v.ExitCode, v.Output)
	if v.Passed || !ok {
		return nil
	}
	if f.Kind == envfault.Network && v.In == event.InClean { // setup has run
		f.Fix = "in a clean checkout, setup and verify have the network of the profile: allow the host there: network: [HOST]"
	}
	return &event.Fault{Kind: string(f.Kind), Evidence: f.Evidence, Fix: f.Fix}
}

// SetupFault describes what the environment lacks for a setup command that failed; "" if
// that is not known.
func SetupFault(line string, v Ran) string {
	f := FaultOf(line, v)
	switch {
	case f == nil:
		return ""
	case f.Kind == string(envfault.Network):
		return fmt.Sprintf(": %s (network missing); check that this machine reaches the host, and allow the hosts that setup needs in the profile: setup_network: [HOST]", f.Evidence)
	}
	return fmt.Sprintf(": %s (%s missing); %s", f.Evidence, f.Kind, f.Fix)
}

// ExitText describes how a verify command ended.
func ExitText(v event.Verify) string {
	if v.ExitCode < 0 && v.TimeoutMS == 0 {
		return "killed"
	}
	return v.Exit()
}

// Why describes what failed in the first failed verify command, and what the sandbox denied it;
// "" if that is not known.
func Why(failed []Ran) string {
	v := failed[0]
	text := v.Line
	if v.TimeoutMS > 0 {
		text = v.Exit()
	}
	if denied, _, _ := strings.Cut(v.denied, "\n"); !strings.Contains(text, denied) {
		text += "; " + denied
	}
	if text = strings.TrimPrefix(text, "; "); text == "" {
		return ""
	}
	return ": " + text
}

// Names returns the names of verify commands.
func Names(failed []Ran) string {
	var list []string
	for _, v := range failed {
		list = append(list, v.Name)
	}
	return strings.Join(list, ", ")
}

// Failed returns the commands of a list that failed.
func Failed(ran []Ran) []Ran {
	return slices.DeleteFunc(slices.Clone(ran), func(r Ran) bool { return r.Passed })
}

// Feedback returns the part of an attempt's prompt about the verify commands that failed. Complete outputs are in a report
// directory.
func Feedback(failed []Ran, reports *files.Dir) string {
	var b strings.Builder
	b.WriteString("The verify commands of the task failed on your changes. Find the cause, fix it, and finish again.\n")
	for _, v := range failed {
		where := ""
		if v.In == event.InClean {
			where = ` in="a fresh checkout of your changes, without ignored files, after setup"`
		}
		fmt.Fprintf(&b, "\n<check name=%q%s result=%q>\n%s\n</check>\n", v.Name, where, ExitText(v.Verify), strings.TrimRight(WithOutput(reports, v.Tail, v.OutputPath), "\n"))
	}
	return b.String()
}
