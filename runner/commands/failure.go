package commands

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/envfault"
	"github.com/millhand/millhand/internal/event"
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
