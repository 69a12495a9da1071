package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/textcut"
)

// Sizes for conversations that exceed the model's window, in tokens. A small window
// lowers them.
const (
	responseRoom = 32_000 // of the window, reserved at most for the next response, as in OpenCode
	keptRecent   = 40_000 // of the last results, which are never removed
	minPruned    = 20_000 // of older results: fewer are not removed
	recent       = 15_000 // of the last messages, which are never summarized
)

// room is the maximum length of the conversation in a request, in tokens: the window without
// the model's longest response. Of a small window at most half is reserved, or a quarter if
// the longest response is unknown.
func (s *Session) room() int64 {
	window := int64(s.cfg.Window)
	if response := int64(cmp.Or(s.cfg.Sampling.MaxOutput, s.cfg.MaxOutput)); response > 0 {
		return window - min(response, responseRoom, window/2)
	}
	return window - min(responseRoom, window/4)
}

// makeRoom shortens a conversation that exceeds the model's window, if that is
// known. Providers cache the prefixes of requests, and whatever is removed changes
// them: so it is done rarely and thoroughly. The results of old calls are removed
// first, because the calls can be repeated. called reports whether a request was
// made.
func (s *Session) makeRoom(ctx context.Context) (called bool, end *End) {
	room := s.room()
	if s.cfg.Window == 0 || s.estimate() < room || s.prune(room) {
		return false, nil
	}
	if s.shortenResults(room) && s.estimate() < room {
		return false, nil
	}
	return s.compact(ctx, room, event.WindowFull)
}

// refused handles the end after a failed request. If the provider rejected the
// conversation as too long, refused shortens it, once for each request. If that was not
// possible, or the provider rejected the request for any other reason, it removes
// attachments: see removeAttachments. It returns nil if the request can be repeated.
func (s *Session) refused(ctx context.Context, end *End) *End {
	if end.Code == event.CodeContext && !s.tooLong {
		s.tooLong = true
		if shortened, failed := s.shortenRejected(ctx); shortened || failed != nil {
			return failed
		}
	}
	if (end.Code == event.CodeContext || end.Code == event.CodeRequest && !end.unusable) && s.removeAttachments(end.Reason) {
		return nil
	}
	return end
}

// shortenRejected shortens a conversation that the provider rejected as too long.
func (s *Session) shortenRejected(ctx context.Context) (shortened bool, failed *End) {
	s.recount() // the count was wrong
	room := s.estimate() * 3 / 4
	if s.cfg.Window > 0 {
		room = min(room, s.room())
	}
	shortened = s.shortenResults(room)
	called, failed := s.compact(ctx, room, event.WindowRefused)
	return called || shortened, failed
}

// withoutAttachment is appended to a message whose attachments were removed.
const withoutAttachment = "\n[The provider refused the request with the attachment %s, so it was removed. Rely on its name and the surrounding text.]"

// removeAttachments removes attachments from the conversation, because they can be why the
// provider refused it: a model without vision, dimensions or formats that it does not
// support, or too many of them. First those that the model has not seen yet, then all. It
// reports whether there were any.
func (s *Session) removeAttachments(refusal string) bool {
	for _, from := range []int{s.lastResponse() + 1, 0} {
		var names []string
		messages := slices.Clone(s.messages)
		for i := range messages[from:] {
			m := &messages[from+i]
			for _, a := range m.Attachments {
				names = append(names, textcut.OneLine(a.Name))
				m.Text += fmt.Sprintf(withoutAttachment, textcut.OneLine(a.Name))
			}
			m.Attachments = nil
		}
		if len(names) == 0 {
			continue
		}
		earlier := s.messages
		s.messages = messages
		rewrote(s.cfg.Journal, earlier, messages)
		s.recount()
		s.emit(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: fmt.Sprintf(
			"the provider refused a request, which is repeated without its attachments (%s): %s", textcut.Head(strings.Join(names, ", "), 200, "..."), refusal)}})
		return true
	}
	return false
}

// pruned replaces a result that was removed.
const pruned = "[Output removed to save space. Repeat the call if you need it.]"

// lasting are the tools whose results are never removed: they are expensive, or
// contain instructions.
var lasting = []string{"skill", "task"}

// prune removes the results of old calls, if that frees enough. The calls stay, each
// with a replaced result.
func (s *Session) prune(room int64) bool {
	var old []int
	var seen, there, counted, freed int64
	unseen := s.lastResponse()
	for i, m := range slices.Backward(s.messages) {
		switch {
		case m.Role != model.ToolRole:
		case i > unseen || seen < min(keptRecent, room/3):
			seen += tokensOf(s.messages[i : i+1])
		case prunable(m):
			old = append(old, i)
			size := tokensOf(s.messages[i : i+1])
			there += size
			if i < s.countedTo { // a lower bound, where tokens is an upper one
				counted += max(int64(len(m.Text)-len(pruned))/4, 0)
			} else {
				freed += size - frame - tokens(len(pruned))
			}
		}
	}
	before := s.estimate()
	if there < min(minPruned, room/6) || before-counted-freed > room*2/3 {
		return false
	}
	earlier := s.messages
	s.messages = slices.Clone(earlier)
	for _, i := range old {
		s.messages[i].Text, s.messages[i].Attachments = pruned, nil
	}
	rewrote(s.cfg.Journal, earlier, s.messages)
	s.counted -= counted
	s.emit(event.Event{Type: event.Pruned, Prune: &event.Prune{Results: len(old), Before: before, After: s.estimate()}})
	return true
}

// prunable reports whether a result would be shorter without its text.
func prunable(m model.Message) bool {
	return (len(m.Text) > len(pruned) || len(m.Attachments) > 0) && !slices.Contains(lasting, permission.Alias(strings.ToLower(m.Tool)))
}

// shortenedNote is appended to a result that was shortened.
const shortenedNote = "\n[Output truncated in the middle, and attachments removed: the results of this turn were too long together. Make fewer calls per turn, or request less output.]"

// shortenResults shortens the results that the model has not seen yet, if they alone use
// more than half of the room: together they could exceed any window.
func (s *Session) shortenResults(room int64) bool {
	at := s.lastResponse() + 1
	fresh := s.messages[at:]
	if tokensOf(fresh) <= room/2 {
		return false
	}
	before, shortened := s.estimate(), 0
	each := max(int(room)*3/2/len(fresh)-len(shortenedNote), len(pruned))
	earlier := s.messages
	s.messages = slices.Clone(earlier)
	for i := at; i < len(s.messages); i++ {
		m := &s.messages[i]
		if m.Role != model.ToolRole || tokensOf(s.messages[i:i+1]) <= tokens(each)+frame {
			continue
		}
		shortened++
		m.Text, m.Attachments = shorten(m.Text, each)+shortenedNote, nil
	}
	if shortened == 0 {
		return false
	}
	rewrote(s.cfg.Journal, earlier, s.messages)
	s.emit(event.Event{Type: event.Pruned, Prune: &event.Prune{Results: shortened, Before: before, After: s.estimate()}})
	return true
}

// lastResponse is the index of the model's last message, -1 for none. The model has
// not seen the messages after it.
func (s *Session) lastResponse() int {
	for i, m := range slices.Backward(s.messages) {
		if m.Role == model.Assistant {
			return i
		}
	}
	return -1
}
