package view

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// obeyed matches workflow commands of a GitHub runner in a line. The runner compares
// by the rules of a language, which ignores invisible characters.
var obeyed = regexp.MustCompile(`^::|##\[`)

// speaks reports whether a line has workflow commands or control characters.
func speaks(line string) bool {
	bare := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.C, unicode.M) {
			return -1
		}
		return r
	}, line)
	hidden := strings.ContainsFunc(line, func(r rune) bool {
		return r != '\t' && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	})
	return hidden || obeyed.MatchString(strings.TrimLeftFunc(bare, func(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.Z) }))
}

// A file name with line breaks must not look like several lines of the log.
func TestPathsAreOneLine(t *testing.T) {
	var out strings.Builder
	l := &Log{out: &out}
	for _, e := range []event.Event{
		{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Kind: "added", Path: "x\n    1s  run passed"}}},
		{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed}},
	} {
		if err := l.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if text := out.String(); strings.Contains(text, "\n    1s") || !strings.Contains(text, "A x 1s run passed") {
		t.Errorf("the log is\n%s", text)
	}
}

// withoutGroups returns the lines of a GitHub log without the two commands that it may have.
func withoutGroups(log string) string {
	return regexp.MustCompile(`(?m)^::(?:group::|endgroup::$)`).ReplaceAllString(log, "")
}

// FuzzLog puts a text in every field that a model, a tool or a repository controls, and
// checks that no line of any log has workflow commands or control characters.
func FuzzLog(f *testing.F) {
	for _, seed := range []string{
		hostile, "::stop-commands::x", "\u200d::error::x", ":\u200d:add-mask::x", "#\u0301#[group]", "\ufeff##[x]", "a\r\n::x::y", "\x1b]52;c;eA==\a", "\u061c\u202e\U000e0041", "\xff::\xfe##[",
		"]]>&<script>", "%0A::error::x", "\u2028::x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		events := []event.Event{
			{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}, {ID: "b"}}}},
			{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Workspace: text}},
			{Type: event.ModelText, Job: "a", Text: &event.Text{Text: text}},
			{Type: event.RequestRetried, Job: "a", Retry: &event.Retry{Error: text}},
			{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: text, Title: text, Status: event.CallCompleted}},
			{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: text, Error: text, Status: event.CallError}},
			{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: text, Error: text, Status: event.CallDenied}},
			{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: text, ExitCode: 1, Tail: text}},
			{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: text, Branch: text, Message: text}},
			{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Kind: "added", Path: text}}},
			{Type: event.WarningIssued, Job: "a", Warning: &event.Warning{Message: text}},
			{Type: event.WarningIssued, Warning: &event.Warning{Message: text}},
			{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed, Reason: text, FinalMessage: text}},
		}
		var console, github, lines strings.Builder
		for _, sink := range []*Log{{out: &console}, {out: &github, fold: githubFold}, {out: &lines, json: true}} {
			for _, e := range events {
				if err := sink.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, log := range []string{console.String(), withoutGroups(github.String()), lines.String(), printable.Text(text)} {
			for line := range strings.SplitSeq(log, "\n") {
				if speaks(line) {
					t.Fatalf("%q makes the line %q", text, line)
				}
			}
		}
		for line := range strings.Lines(lines.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q makes the line %q", text, line)
			}
		}
	})
}
