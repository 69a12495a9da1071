package replay

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// normalizer replaces what differs in each run.
type normalizer struct {
	replacer *strings.Replacer
	work     *regexp.Regexp // directory of the run's processes; nil if it is not known
}

// normal returns the normalizer of a job: its directories and the id of its run.
func normal(s recorded, id string) (n normalizer) {
	run := s.past.Run.ID
	var pairs []string
	if facts := s.past.Job(id); facts != nil && facts.Start != nil {
		workspace := facts.Start.Workspace
		pairs = append(pairs, workspace, ".")
		if work, _, found := strings.Cut(workspace, string(os.PathSeparator)+"trees"+string(os.PathSeparator)); found {
			pairs = append(pairs, work, "WORK")
		}
	}
	if at := strings.LastIndexByte(run, '-'); at >= 0 {
		n.work = regexp.MustCompile(`/[^\s"'=:]*/millhand-` + regexp.QuoteMeta(run[at+1:]) + `\b`)
	}
	n.replacer = strings.NewReplacer(append(pairs, run, "RUN", s.run.Dir, "REPORTS")...)
	return n
}

// paths returns a text without directories of the run.
func (n normalizer) paths(s string) string {
	s = n.replacer.Replace(s)
	if n.work != nil {
		s = n.work.ReplaceAllString(s, "WORK")
	}
	return s
}

// varying are times and durations, and addresses of the machine itself.
var varying = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d+(\.\d+)?\s?(ns|µs|ms|s|m)\b|\b\d\d:\d\d:\d\d(\.\d+)?\b|\b(127\.0\.0\.1|localhost):\d+\b|\(cached\)`)
})

// text returns the output of a program without them, and without times and durations.
func (n normalizer) text(s string) string {
	return varying().ReplaceAllString(n.paths(s), "~")
}
