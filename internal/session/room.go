package session

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
)

// What a conversation holds when it grows beyond the model's window, in tokens.
// A window that is smaller than usual makes them smaller.
const (
	answerRoom = 20_000 // of the window, kept for the next answer
	newest     = 40_000 // of calls' answers that are never taken out: the last ones
	worthwhile = 20_000 // of older answers that have to be there before any is taken out
	recent     = 15_000 // of the conversation's end that no summary covers
)

// room is how long the conversation may be when a request is made, in tokens.
func (s *Session) room() int64 {
	window := int64(s.cfg.Window)
	answer := int64(cmp.Or(s.cfg.Sampling.MaxOutput, s.cfg.MostOutput, answerRoom))
	return window - min(answer, answerRoom, window/4)
}

// makeRoom shortens a conversation that has become too long for the model's
// window, if that is known. Providers cache what requests begin with, and
// whatever is taken out makes them begin otherwise: so it is done seldom and
// thoroughly, first to the answers of old calls, which can be had again. called
// says that a model call was made for it.
func (s *Session) makeRoom(ctx context.Context) (called bool, end *End) {
	room := s.room()
	if s.cfg.Window == 0 || s.estimate() < room || s.prune(room) {
		return false, nil
	}
	if s.squeeze(room) && s.estimate() < room {
		return false, nil
	}
	return s.compact(ctx, room, event.WindowFull)
}

// refused takes the end that a failed request is. If the provider found the
// conversation too long, it is made shorter, once for each request: nil says that
// the request may be made again.
func (s *Session) refused(ctx context.Context, end *End) *End {
	if end.Code != event.CodeContext || s.tooLong {
		return end
	}
	s.tooLong = true
	s.recount() // whoever counted it was wrong
	room := s.estimate() * 3 / 4
	if s.cfg.Window > 0 {
		room = min(room, s.room())
	}
	shortened := s.squeeze(room)
	called, failed := s.compact(ctx, room, event.WindowRefused)
	switch {
	case failed != nil:
		return failed
	case !called && !shortened:
		return end
	}
	return nil
}

// pruned is what stands in the place of an answer that was taken out.
const pruned = "[The output of this call was taken out to save room. Make the call again if you need it.]"

// lasting are the tools whose answers stay: they cost too much, or say how to
// work.
var lasting = []string{"skill", "task"}

// prune takes the answers of old calls out, if that makes room for long. The
// calls stay, and each is still answered.
func (s *Session) prune(room int64) bool {
	var old []int
	var seen, there, counted, freed int64
	unseen := s.lastAnswer()
	for i, m := range slices.Backward(s.messages) {
		switch {
		case m.Role != model.ToolRole:
		case i > unseen || seen < min(newest, room/3):
			seen += tokensOf(s.messages[i : i+1])
		case prunable(m):
			old = append(old, i)
			size := tokensOf(s.messages[i : i+1])
			there += size
			if i < s.countedTo { // at least so much, where tokens says at most
				counted += max(int64(len(m.Text)-len(pruned))/4, 0)
			} else {
				freed += size - frame - tokens(len(pruned))
			}
		}
	}
	before := s.estimate()
	if there < min(worthwhile, room/6) || before-counted-freed > room*2/3 {
		return false
	}
	s.messages = slices.Clone(s.messages)
	for _, i := range old {
		s.messages[i].Text, s.messages[i].Attachments = pruned, nil
	}
	s.counted -= counted
	s.emit(event.Event{Type: event.PruneMade, Prune: &event.Prune{Answers: len(old), Before: before, After: s.estimate()}})
	return true
}

// prunable reports whether an answer would be shorter without its text.
func prunable(m model.Message) bool {
	return (len(m.Text) > len(pruned) || len(m.Attachments) > 0) && !slices.Contains(lasting, strings.ToLower(m.Tool))
}

// squeezed is what stands behind an answer that was shortened.
const squeezed = "\n[The middle of this output, and what was attached to it, was taken out: the answers of this turn were too long together. Make fewer calls at once, or ask for less.]"

// squeeze shortens the answers that the model has not seen yet, if they alone
// take more than half of the room: together they could be longer than any
// window.
func (s *Session) squeeze(room int64) bool {
	at := s.lastAnswer() + 1
	fresh := s.messages[at:]
	if tokensOf(fresh) <= room/2 {
		return false
	}
	before, shortened := s.estimate(), 0
	each := max(int(room)*3/2/len(fresh)-len(squeezed), len(pruned))
	s.messages = slices.Clone(s.messages)
	for i := at; i < len(s.messages); i++ {
		m := &s.messages[i]
		if m.Role != model.ToolRole || tokensOf(s.messages[i:i+1]) <= tokens(each)+frame {
			continue
		}
		shortened++
		m.Text, m.Attachments = shorten(m.Text, each)+squeezed, nil
	}
	if shortened == 0 {
		return false
	}
	s.emit(event.Event{Type: event.PruneMade, Prune: &event.Prune{Answers: shortened, Before: before, After: s.estimate()}})
	return true
}

// lastAnswer is the index of the model's last message, -1 if there is none.
// Behind it stands what it has not seen.
func (s *Session) lastAnswer() int {
	for i, m := range slices.Backward(s.messages) {
		if m.Role == model.Assistant {
			return i
		}
	}
	return -1
}
