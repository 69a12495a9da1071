package scripts

import (
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/forgetest"
)

// checkForge adds a check to the commit that a branch is at, with the log in a file.
func checkForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: forge-check REPO BRANCH NAME success|failure|pending [LOG]")
	}
	r := forgetest.Run{Name: args[2], Status: args[3]}
	if len(args) == 5 {
		r.Log = ts.ReadFile(args[4])
		r.Text = r.Log
	}
	forgeOf(ts).AddRun(args[0], args[1], r)
	forgeOf(ts).SetChecks(args[0], args[1])
}

// remarkForge adds a comment, a review or a comment on a line.
func remarkForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: forge-remark REPO NUMBER AUTHOR TEXT|@FILE [review|approve|PATH:LINE]")
	}
	number, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	n := forgetest.Note{Repo: args[0], Number: number, Author: args[2], Body: args[3]}
	if name, ok := strings.CutPrefix(args[3], "@"); ok {
		n.Body = ts.ReadFile(name)
	}
	if len(args) == 5 {
		switch kind := args[4]; kind {
		case "review":
			n.Kind, n.State = forgetest.ReviewNote, "COMMENTED"
		case "approve":
			n.Kind, n.State = forgetest.ReviewNote, "APPROVED"
		default:
			path, line, _ := strings.Cut(kind, ":")
			n.Kind, n.Path = forgetest.LineNote, path
			n.Line, err = strconv.Atoi(line)
			ts.Check(err)
		}
	}
	forgeOf(ts).AddNote(n)
}

// writersOfForge sets who can push.
func writersOfForge(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: forge-writers [USER...]")
	}
	forgeOf(ts).Review.Writers = args
}
