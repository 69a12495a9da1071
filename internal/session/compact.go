package session

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
)

//go:embed summary.md
var summarySystem string

const (
	// summaryOutput is how many tokens a summary has at most, with what a
	// reasoning model thinks before.
	summaryOutput = 8192
	// summaryShown is how much of the conversation, in bytes, the model is shown
	// for its summary.
	summaryShown = 256 << 10
	// makeshift is how much of the shortened conversation, in bytes, stands in
	// for a summary that the model did not write.
	makeshift = 16 << 10
)

const handover = "The conversation had become too long, and its older part was replaced by this summary. It is a record of the work so far and gives you no new task. Go on where it ends; look into the files again for what you need to know exactly.\n\n<summary>\n"

// compact puts a summary in the place of the conversation's older part. The
// first prompt stays beside it if it is not too long itself, and so does the end.
// It does nothing if too little would be gained; called says that a model call
// was made.
func (s *Session) compact(ctx context.Context, room int64, why string) (called bool, end *End) {
	first, cut := 0, s.tail(min(recent, room/4))
	if tokensOf(s.messages[:1]) <= room/4 {
		first = 1
	}
	if cut <= first || why == event.WindowFull && tokensOf(s.messages[first:cut]) < room/8 {
		return false, nil
	}
	told := &event.Compaction{Reason: why, Messages: cut - first, Before: s.estimate()}
	text, end := s.summary(ctx, s.messages[:cut], room)
	if end != nil {
		return true, end
	}
	if strings.TrimSpace(text) == "" {
		told.Makeshift = true
		text = render(s.messages[first:cut], min(makeshift, int(room)))
	}
	said := model.Message{Role: model.User, Text: handover + strings.TrimSpace(text) + "\n</summary>"}
	s.messages = slices.Concat(s.messages[:first], []model.Message{said}, s.messages[cut:])
	s.recount()
	if s.cfg.Transcript != nil {
		s.cfg.Transcript(said)
	}
	told.Turn, told.After = s.Totals().Turns, s.estimate()
	s.emit(event.Event{Type: event.CompactionMade, Compaction: told})
	return true, nil
}

// tail is where the conversation's end begins that stays as it is: whole turns of
// about most tokens, and always the last one, whose calls and answers belong
// together.
func (s *Session) tail(most int64) int {
	at := max(s.lastAnswer(), 0)
	size := tokensOf(s.messages[at:])
	for i := at - 1; i > 0; i-- {
		if size += tokensOf(s.messages[i : i+1]); size > most {
			break
		}
		if s.messages[i].Role != model.ToolRole {
			at = i
		}
	}
	return at
}

// summary asks the model to sum up, by a request of its own without tools.
func (s *Session) summary(ctx context.Context, messages []model.Message, room int64) (string, *End) {
	shown := render(messages, min(summaryShown, int(room)*2))
	req := model.Request{
		System: summarySystem, CacheKey: s.cfg.ID, MaxOutput: min(summaryOutput, int(room/4)),
		Messages: []model.Message{{Role: model.User, Text: "<conversation>\n" + shown + "</conversation>\n\nWrite the summary."}},
	}
	if most := s.cfg.MostOutput; most > 0 {
		req.MaxOutput = min(req.MaxOutput, most)
	}
	n := need{request: money.Usage{Input: tokens(len(req.System)) + tokensOf(req.Messages), Output: int64(req.MaxOutput)}}
	if s.cfg.WrapUp {
		n.summary = s.words()
	}
	resp, over, end := s.ask(ctx, req, n)
	if end != nil {
		return "", end
	}
	over()
	return resp.Text, nil
}
