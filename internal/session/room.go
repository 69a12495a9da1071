package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
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
func (c Config) room() int64 {
	window := int64(c.Window)
	if response := int64(cmp.Or(c.Sampling.MaxOutput, c.MaxOutput)); response > 0 {
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
	room := s.cfg.room()
	if s.cfg.Window == 0 || s.talk.estimate() < room || s.events.pruned(s.talk.prune(room)) {
		return false, nil
	}
	if s.events.pruned(s.talk.shortenResults(room)) && s.talk.estimate() < room {
		return false, nil
	}
	return s.compact(ctx, room, event.WindowFull)
}

// refused handles the end after a failed request. If the provider rejected the
// conversation as too long, refused shortens it, once for each request. If that was not
// possible, or the provider rejected the request for any other reason, it removes
// attachments. It returns nil if the request can be repeated.
func (s *Session) refused(ctx context.Context, end *End) *End {
	if end.Code == event.CodeContext && !s.tooLong {
		s.tooLong = true
		if shortened, failed := s.shortenRejected(ctx); shortened || failed != nil {
			return failed
		}
	}
	if end.Code != event.CodeContext && (end.Code != event.CodeRequest || end.unusable) {
		return end
	}
	names := s.talk.removeAttachments()
	if names == nil {
		return end
	}
	s.events.warn(fmt.Sprintf(
		"the provider refused a request, which is repeated without its attachments (%s): %s", textcut.Head(strings.Join(names, ", "), 200, "..."), end.Reason))
	return nil
}

// shortenRejected shortens a conversation that the provider rejected as too long.
func (s *Session) shortenRejected(ctx context.Context) (shortened bool, failed *End) {
	s.talk.recount() // the count was wrong
	room := s.talk.estimate() * 3 / 4
	if s.cfg.Window > 0 {
		room = min(room, s.cfg.room())
	}
	shortened = s.events.pruned(s.talk.shortenResults(room))
	called, failed := s.compact(ctx, room, event.WindowRefused)
	return called || shortened, failed
}
