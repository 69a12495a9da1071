package runner

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// ofSessions are the events that other packages emit while an agent works; their own tests check them.
var ofSessions = []event.Type{
	event.SessionStarted, event.AttemptStarted, event.TurnStarted, event.ModelText, event.CallUpdated, event.TurnEnded, event.SessionEnded,
	event.CommandStarted, event.CommandEnded, event.VerifyEnded, event.BaselineEnded,
}

var (
	hashes = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{40}`)
	times  = regexp.MustCompile(`"(elapsed|start)_ms":\d+|> \d+ [-+]\d{4}"`)
	server = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
)

// matches compares the events of the stage, except those of sessions, with testdata/NAME.events. Each is one line, where hashes
// are numbered in their order and nothing depends on the time or the machine.
func (s *stage) matches(name string) {
	s.t.Helper()
	var lines []string
	for _, e := range s.events {
		if slices.Contains(ofSessions, e.Type) {
			continue
		}
		kind, job := e.Type, e.Job
		e.Type, e.Job, e.Time = "", "", time.Time{}
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(e); err != nil {
			s.t.Fatal(err)
		}
		payload := strings.TrimPrefix(strings.TrimSpace(text.String()), `{"seq":0,"time":"0001-01-01T00:00:00Z","type":""`)
		lines = append(lines, fmt.Sprintf("%s %s {%s", kind, job, strings.TrimPrefix(payload, ",")))
	}
	got := strings.Join(lines, "\n") + "\n"
	list := []string{s.opts.Work, "WORK", s.opts.Dir.Path(), "REPORTS", s.repo, "REPO"}
	if url, err := gitOf(s.repo, "remote", "get-url", "origin"); err == nil {
		list = append(list, url, "REMOTE")
	}
	got = strings.NewReplacer(list...).Replace(got)
	got = times.ReplaceAllStringFunc(server.ReplaceAllString(got, "FORGE"), func(text string) string {
		if strings.HasPrefix(text, ">") {
			return `> TIME"`
		}
		return text[:strings.Index(text, ":")] + ":0"
	})
	var known []string
	for _, hash := range hashes.FindAllString(got, -1) {
		if !slices.Contains(known, hash) {
			known = append(known, hash)
			got = strings.ReplaceAll(strings.ReplaceAll(got, hash, fmt.Sprintf("HASH%d", len(known))), hash[:10], fmt.Sprintf("HASH%d", len(known)))
		}
	}
	file := filepath.Join("testdata", name+".events")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		s.t.Errorf("the events differ from %s (-want +got):\n%s", file, diff)
	}
}
