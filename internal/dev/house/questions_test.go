package house

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// questions are those of newcomers: the texts of the references to follow from the front page on, the heading to read
// there (that of the last reference if empty), and what it has to have, as a regular expression.
var questions = []struct {
	question string
	follow   []string
	heading  string
	found    string
}{
	{"Is there a sandbox on my system?", nil, "", `macOS has no sandbox`},
	{"How do I try it without a key?", []string{"scripted models"}, "Scripted models", `It needs no key and no network`},
	{"How do I resume a run that was killed?", []string{"resume, follow up, fork, revert, rebase"}, "Continue a run", `millhand run --resume RUN`},
	{"Where are the logs?", []string{"find the logs"}, "", "`events.jsonl` with every event"},
	{"Which profile do I need?", []string{"profiles"}, "", "(?s)`readonly`.*`review`.*`edit`.*`build`.*`full`"},
	{"Why did a job fail?", []string{"troubleshooting"}, "Jobs that did not pass", "`millhand report show"},
	{"Why was a call denied?", []string{"FAQ"}, "Why was a call denied?", `millhand policy explain`},
	{"How do I limit what a run can cost?", []string{"costs and limits"}, "Limits", "--max-cost"},
	{"Which token opens a pull request, and who has it?", []string{"push and open pull requests"}, "Credentials", "GITHUB_TOKEN"},
	{"What are jobs, matrix, shards, waves and queue?", []string{"jobs, matrix, shards, waves and queue"}, "", `(?s)WHAT.*WHEN.*WHERE.*HOW`},
	{"How do I get a review with comments on lines?", []string{"review pull requests"}, "", "`inline: true`"},
	{"Do I run validate, plan or doctor?", []string{"jobs, matrix, shards, waves and queue"}, "Ways to check", "(?s)`millhand validate`.*`millhand doctor`"},
	{"Why are the files of setup not in the commit?", []string{"guide"}, "Setup and verify leave no changes", `commit: \{include: \[setup\]\}`},
	{"How do I try new rules on what agents did before?", []string{"new rules on saved runs"}, "Try rules on saved runs", `millhand policy backtest`},
}

func TestQuestionsNeedTwoPages(t *testing.T) {
	for _, q := range questions {
		at, anchor := "README.md", ""
		for i, text := range q.follow {
			found := regexp.MustCompile(`\[` + regexp.QuoteMeta(text) + `\]\(([^)#]*)#?([^)]*)\)`).FindStringSubmatch(read(t, at))
			if found == nil || i == 2 {
				t.Fatalf("%s: no reference %q in %s, or too many to follow", q.question, text, at)
			}
			at, anchor = path.Join(path.Dir(at), found[1]), found[2]
		}
		if !regexp.MustCompile(q.found).MatchString(section(read(t, at), anchor, q.heading)) {
			t.Errorf("%s: %s does not have %s", q.question, at, q.found)
		}
	}
}

// section returns the text below a heading, up to the next one of its level or above: of the heading with the title or, if it is empty,
// of the one with the anchor; the page if both are.
func section(page, anchor, title string) string {
	var b strings.Builder
	level := 0 // of the heading
	for line := range strings.Lines(page) {
		marks, text, _ := strings.Cut(line, " ")
		if text = strings.TrimSpace(text); strings.Trim(marks, "#") == "" && marks != "" {
			slug := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(text), "")
			switch {
			case level > 0 && len(marks) <= level:
				return b.String()
			case level == 0 && (text == title || title == "" && (anchor == "" || strings.ReplaceAll(slug, " ", "-") == anchor)):
				level = len(marks)
			}
		}
		if level > 0 {
			b.WriteString(line)
		}
	}
	return b.String()
}
