package journal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/model"
)

// conversation returns the entries of the last conversation in the file, with its Session.
func (s *State) conversation() []Entry {
	for i, e := range slices.Backward(s.History) {
		if e.Session != nil {
			return s.History[i:]
		}
	}
	return s.History
}

// added returns the index of the entry that added the message with an id, -1 for none.
func added(entries []Entry, id string) int {
	return slices.IndexFunc(entries, func(e Entry) bool {
		return e.Message != nil && e.Message.ID == id || e.Compaction != nil && e.Compaction.By.ID == id
	})
}

// At returns the state of the last conversation when a message had been added: what was
// removed later, in a compaction or because the session was resumed from an earlier message,
// is in it. Its turns include one that was journaled later because its state was still being
// saved.
func (s *State) At(id string) (*State, error) {
	entries := s.conversation()
	at := added(entries, id)
	if at < 0 || id == "" {
		return nil, fmt.Errorf("message %q not found in the session", id)
	}
	return replay(entries[:at+1], entries[at+1:])
}

// replay returns the state after entries. Of the later ones it adds the turns that end with
// the last message.
func replay(entries, later []Entry) (*State, error) {
	s := &State{}
	for _, e := range entries {
		if err := s.apply(e); err != nil {
			return nil, err
		}
	}
	known := map[string]bool{}
	for _, m := range s.Messages {
		known[m.ID] = true
	}
	for _, e := range later {
		if e.Turn == nil || !known[e.Turn.After] {
			continue
		}
		if err := s.apply(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Point is a point of a conversation from which it can continue: after a complete turn, or
// before a prompt.
type Point struct {
	State  *State // the conversation; its History is a file of its own
	After  string // id of the last message; "" for the start of the conversation
	Turn   int    // the last one of the conversation; 0 for none
	Tree   string // of the workspace; "" if no turn had changed it
	Prompt string // text of the prompt that follows; "" for a point after a turn
	Done   bool   // the last message is a response without calls
}

// ErrIncomplete is wrapped by the error for a turn that was interrupted: its calls have no
// results, or the workspace was not saved.
var ErrIncomplete = errors.New("turn not complete")

// Point returns the point of the last conversation that belongs to a message: before it if it
// is a prompt, after it if it is a summary, otherwise after its turn.
func (s *State) Point(id string) (Point, error) {
	entries := s.conversation()
	i := added(entries, id)
	if i < 0 || id == "" {
		return Point{}, fmt.Errorf("message %q not found in the session", id)
	}
	m := entries[i].Message
	if m == nil { // a summary
		at, err := replay(entries[:i+1], entries[i+1:])
		if err != nil {
			return Point{}, err
		}
		return at.complete(id, 0)
	}
	if m.Role == model.User {
		before, err := replay(entries[:i], entries[i:])
		if err != nil {
			return Point{}, err
		}
		p := before.point()
		p.Prompt = m.Text
		return p, nil
	}
	last := m.ID
	for _, e := range entries[i:] {
		if e.Turn != nil && e.Turn.Number == m.Turn {
			last = e.Turn.After
			break
		}
	}
	return s.after(last, m.Turn)
}

// AfterTurn returns the point after a turn of the last conversation; 0 is its start.
func (s *State) AfterTurn(number int) (Point, error) {
	entries := s.conversation()
	if number == 0 {
		before, err := replay(entries[:min(1, len(entries))], nil) // its description
		if err != nil {
			return Point{}, err
		}
		return before.point(), nil
	}
	for _, e := range slices.Backward(entries) {
		if e.Turn != nil && e.Turn.Number == number {
			return s.after(e.Turn.After, number)
		}
	}
	return Point{}, fmt.Errorf("turn %d not found in the session", number)
}

// Revert reduces the last conversation to the point after a turn.
func (s *State) Revert(turn int) error {
	p, err := s.AfterTurn(turn)
	if err == nil {
		s.Messages, s.Turns = p.State.Messages, p.State.Turns
	}
	return err
}

// after returns the point after the last message of a turn.
func (s *State) after(id string, turn int) (Point, error) {
	at, err := s.At(id)
	if err != nil {
		return Point{}, err
	}
	return at.complete(id, turn)
}

// complete returns the end of the state as a point. It is an error if a session would not
// continue there.
func (s *State) complete(id string, turn int) (Point, error) {
	p := s.point()
	resumed := State{Messages: slices.Clone(s.Messages), Turns: slices.Clone(s.Turns)}
	if err := resumed.Resume(func(string) bool { return true }); err != nil {
		return Point{}, err
	}
	if n := len(resumed.Messages); n != len(s.Messages) || n > 0 && len(resumed.Messages[n-1].Calls) > 0 {
		return Point{}, fmt.Errorf("message %s: turn %d: %w", id, turn, ErrIncomplete)
	}
	p.Turn = max(p.Turn, turn)
	return p, nil
}

// point returns the end of the state as a point.
func (s *State) point() Point {
	p := Point{State: s, Tree: s.Tree()}
	for _, t := range s.Turns {
		p.Turn = max(p.Turn, t.Number)
	}
	if n := len(s.Messages); n > 0 {
		last := s.Messages[n-1]
		p.After, p.Done = last.ID, last.Role == model.Assistant
	}
	return p
}

// TurnNumbers returns the numbers of the turns in the last conversation that
// AfterTurn accepts, in increasing order and without 0.
func (s *State) TurnNumbers() (numbers []int) {
	for _, e := range s.conversation() {
		if e.Turn != nil {
			numbers = append(numbers, e.Turn.Number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// MessageIDs returns the ids of all messages of the last conversation, in the order in which
// they were added.
func (s *State) MessageIDs() (ids []string) {
	seen := map[string]bool{}
	for _, e := range s.conversation() {
		id := ""
		switch {
		case e.Message != nil:
			id = e.Message.ID
		case e.Compaction != nil:
			id = e.Compaction.By.ID
		}
		if id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}
