package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// limited runs a command that reaches a time limit, LIMIT in a manifest or an argument, and must exit with a code. On a busy
// machine the limit can pass before what a script is about has begun: then it is tried again with a longer one, until the
// report matches. $LIMIT is the last one.
func limited(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 6 {
		ts.Fatalf("usage: limited FIRST MANIFEST REPORT REGEXP CODE CMD...")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	text, report, want := ts.ReadFile(args[1]), ts.MkAbs(args[2]), regexp.MustCompile(args[3])
	for ; ; limit *= 4 {
		with := strings.NewReplacer("LIMIT", limit.String())
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(with.Replace(text)), 0o644))
		code := exitOf(ts, strings.Split(with.Replace(strings.Join(args[5:], "\x00")), "\x00"))
		if data, err := os.ReadFile(report); err == nil && want.Match(data) {
			if code != args[4] {
				ts.Fatalf("exit code %s, want %s", code, args[4])
			}
			ts.Setenv("LIMIT", limit.String())
			return
		}
		if limit > time.Minute {
			ts.Fatalf("%s never matched %s", report, want)
		}
		ts.Check(os.RemoveAll(filepath.Dir(report)))
	}
}
