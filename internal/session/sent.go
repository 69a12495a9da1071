package session

import (
	"reflect"

	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
)

// sent is what the journal has of messages that were sent unlike the conversation has them.
type sent struct {
	changed map[string]model.Message // by id, and those that were added by their text
	removed map[string]bool          // by id
}

// record records in the journal how the messages of a request differ from the conversation, as far
// as it does not have that yet, and reports whether they differ.
func (s *sent) record(to *journal.Writer, turn int, conversation, messages []model.Message) bool {
	line := journal.Sent{Turn: turn}
	changed, removed, own := map[string]model.Message{}, map[string]bool{}, map[string]model.Message{}
	for _, m := range conversation {
		own[m.ID], removed[m.ID] = m, true
	}
	last := ""
	for _, m := range messages {
		key := m.ID
		if key == "" {
			key = "after " + last + ": " + m.Text
		} else {
			delete(removed, key)
			last = key
		}
		if m.ID == "" || !reflect.DeepEqual(m, own[m.ID]) {
			changed[key] = m
			if before, known := s.changed[key]; !known || !reflect.DeepEqual(before, m) {
				line.Changed = append(line.Changed, shown(m, last))
			}
		}
	}
	for _, m := range conversation {
		_, was := s.changed[m.ID]
		_, is := changed[m.ID]
		switch {
		case removed[m.ID] && !s.removed[m.ID]:
			line.Removed = append(line.Removed, m.ID)
		case !removed[m.ID] && !is && (was || s.removed[m.ID]):
			line.Restored = append(line.Restored, m.ID)
		}
	}
	s.changed, s.removed = changed, removed
	if len(line.Changed)+len(line.Removed)+len(line.Restored) > 0 {
		to.Sent(line)
	}
	return len(changed)+len(removed) > 0
}

// shown returns a message for the journal, which has the attachments in the conversation.
func shown(m model.Message, after string) journal.SentMessage {
	line := journal.SentMessage{ID: m.ID, Message: m}
	line.Attachments, line.State = nil, nil
	if m.ID == "" {
		line.After = after
	}
	return line
}
