package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/millhand/millhand/internal/model"
)

const (
	diffLimit = 4 << 10 // bytes that an error shows of one difference
	jobsLimit = 20      // names that an error lists
)

// miss describes how a request differs from what was recorded.
func (r *Recording) miss(job string, asked model.RecordedRequest) string {
	if len(r.jobs[job]) == 0 {
		return fmt.Sprintf("recording %s has no requests of %s; it has those of: %s", r.name, job, list(r.Jobs()))
	}
	left := r.left(job)
	if len(left) == 0 {
		return fmt.Sprintf("recording %s has no more requests of %s: all %d were replayed; unexpected request:\n%s",
			r.name, job, len(r.jobs[job]), short(asked.News))
	}
	near := nearest(left, asked)
	var b strings.Builder
	fmt.Fprintf(&b, "a request of %s is not in the recording %s; the nearest one that is left is in line %d, and differs:", job, r.name, near.line)
	r.compare(&b, near.Request, asked)
	return b.String()
}

// nearest is the exchange that has most in common with a request, the first of
// equals.
func nearest(left []*exchange, asked model.RecordedRequest) *exchange {
	likeness := func(e *exchange) int {
		n := 0
		for _, same := range []bool{
			e.Request.Earlier == asked.Earlier, e.Request.Messages == asked.Messages, e.Request.News == asked.News,
			e.Request.System == asked.System, e.Request.Options == asked.Options, slices.Equal(e.Request.Tools, asked.Tools),
		} {
			if same {
				n++
			}
		}
		return n
	}
	best := left[0]
	for _, e := range left[1:] {
		if likeness(e) > likeness(best) {
			best = e
		}
	}
	return best
}

// compare writes what differs between two requests.
func (r *Recording) compare(b *strings.Builder, was, is model.RecordedRequest) {
	if was.System != is.System {
		fmt.Fprintf(b, "\nthe system prompt:\n%s", diff(r.prompts[was.System], is.Prompt))
	}
	if !slices.Equal(was.Tools, is.Tools) {
		fmt.Fprintf(b, "\nthe tools:\n%s", diff(lines(was.Tools), lines(is.Tools)))
	}
	if was.Options != is.Options {
		b.WriteString("\nthe parameters: effort, temperature, or output schema")
	}
	if was.Messages != is.Messages {
		fmt.Fprintf(b, "\nthe messages are %d, and were %d", is.Messages, was.Messages)
	}
	if was.Earlier != is.Earlier {
		b.WriteString("\nthe messages up to the model's last one")
	}
	if was.News != is.News {
		fmt.Fprintf(b, "\nwhat came since the model's last message:\n%s", diff(was.News, is.News))
	}
}

func diff(was, is string) string {
	return short(udiff.Unified("recorded", "asked", was, is))
}

// short truncates a text.
func short(s string) string {
	if len(s) <= diffLimit {
		return s
	}
	return strings.ToValidUTF8(s[:diffLimit], "") + fmt.Sprintf("\n(and %d bytes more)", len(s)-diffLimit)
}

func lines(list []string) string { return strings.Join(list, "\n") + "\n" }

func list(names []string) string {
	if len(names) == 0 {
		return "nothing at all"
	}
	if more := len(names) - jobsLimit; more > 0 {
		return strings.Join(names[:jobsLimit], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
