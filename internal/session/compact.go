package session

import (
	"context"
	_ "embed"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

//go:embed summary.md
var summarySystem string

const (
	// summaryOutput is the output limit of a summary in tokens, with the reasoning of
	// models that reason.
	summaryOutput = 8192
	// summaryShown is how many bytes of the conversation the request for a summary
	// contains.
	summaryShown = 256 << 10
	// maxExcerpt is how many bytes of the shortened conversation replace a summary that
	// the model did not write.
	maxExcerpt = 16 << 10
)

const handover = "The conversation had become too long, and its older messages were replaced by this summary. It is a record of the work so far and gives you no new task. Continue where it ends; read files again for the details that you need.\n\n<summary>\n"

// compact replaces the older messages of the conversation by a summary, except the
// first prompt if it is short. It does nothing if too little would be gained; called
// reports whether a request was made.
func (s *Session) compact(ctx context.Context, room int64, why string) (called bool, end *End) {
	first, cut := 0, s.talk.tail(min(recent, room/4))
	if tokensOf(s.talk.messages[:1]) <= room/4 {
		first = 1
	}
	if cut <= first || why == event.WindowFull && tokensOf(s.talk.messages[first:cut]) < room/8 {
		return false, nil
	}
	compaction := &event.Compaction{Reason: why, Messages: cut - first, Before: s.talk.estimate()}
	text, end := s.summary(ctx, s.talk.messages[:cut], room)
	if end != nil {
		return true, end
	}
	if strings.TrimSpace(text) == "" {
		compaction.NoSummary = true
		text = render(s.talk.messages[first:cut], min(maxExcerpt, int(room)))
	}
	s.talk.replace(first, cut, handover+strings.TrimSpace(text)+"\n</summary>", s.Turn())
	compaction.Turn, compaction.After = s.Turn(), s.talk.estimate()
	s.events.emit(event.Event{Type: event.Compacted, Compaction: compaction})
	return true, nil
}

// summary requests a summary of messages, without tools.
func (s *Session) summary(ctx context.Context, messages []model.Message, room int64) (string, *End) {
	shown := render(messages, min(summaryShown, int(room)*2))
	req := model.Request{
		System: s.cfg.Hooks.summary(ctx), CacheKey: s.cfg.ID, Sampling: model.Sampling{MaxOutput: min(summaryOutput, int(room/4))},
		Messages: []model.Message{{Role: model.User, Text: "<conversation>\n" + shown + "</conversation>\n\nWrite the summary."}},
	}
	if most := s.cfg.MaxOutput; most > 0 {
		req.MaxOutput = min(req.MaxOutput, most)
	}
	n := need{request: money.Usage{Input: tokens(len(req.System)) + tokensOf(req.Messages), Output: int64(req.MaxOutput)}}
	if s.cfg.FinalSummary {
		n.summary = s.talk.finalUsage()
	}
	resp, ended, end := s.ask(ctx, req, n)
	if end != nil {
		return "", end
	}
	s.events.turnEnded(&ended)
	return resp.Text, nil
}
