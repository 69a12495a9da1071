package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/millhand/millhand/internal/model"
)

// State is the state of the last conversation in a file.
type State struct {
	Session  Session
	Messages []Message // the conversation as the model sees it
	Turns    []Turn
	History  []Entry // everything in the file, also of earlier conversations, in order
}

// Entry is one line of a file: one of its fields is set.
type Entry struct {
	Session    *Session
	Message    *Message
	Compaction *Compaction
	Turn       *Turn
	Resume     *Resume
}

// maxLine limits a line, in bytes: far above a message with all its attachments.
const maxLine = 256 << 20

// Read reads a file. torn is the length in bytes of an incomplete last line, which is
// ignored, 0 for none. Another invalid line is an error with its number.
func Read(r io.Reader) (s *State, torn int, err error) {
	s = &State{}
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return s, len(text), nil
		}
		if err == nil {
			err = s.add(text)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read the session, line %d: %w", n, err)
		}
	}
}

// readLine returns the next line without its newline; at the end, an incomplete line and
// io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		chunk, err := in.ReadSlice('\n')
		text = append(text, chunk...)
		switch {
		case err == nil:
			return text[:len(text)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return text, err
		case len(text) > maxLine:
			return nil, errors.New("line too long")
		}
	}
}

func (s *State) add(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	var e Entry
	switch l.Type {
	case sessionLine:
		e.Session = new(Session)
		if err := json.Unmarshal(text, e.Session); err != nil {
			return err
		}
		s.Session, s.Messages, s.Turns = *e.Session, nil, nil
	case messageLine:
		e.Message = new(Message)
		if err := json.Unmarshal(text, e.Message); err != nil {
			return err
		}
		s.put(*e.Message)
	case compactionLine:
		e.Compaction = new(Compaction)
		if err := json.Unmarshal(text, e.Compaction); err != nil {
			return err
		}
		if err := s.compact(*e.Compaction); err != nil {
			return err
		}
	case turnLine:
		e.Turn = new(Turn)
		if err := json.Unmarshal(text, e.Turn); err != nil {
			return err
		}
		// A process that resumes completes its first turn again.
		s.Turns = append(slices.DeleteFunc(s.Turns, func(t Turn) bool { return t.Number == e.Turn.Number }), *e.Turn)
	case resumeLine:
		e.Resume = new(Resume)
		if err := json.Unmarshal(text, e.Resume); err != nil {
			return err
		}
		if err := s.resumeAfter(e.Resume.After); err != nil {
			return err
		}
	default: // of a later release
		return nil
	}
	s.History = append(s.History, e)
	return nil
}

// put adds a message, or replaces the one with its id.
func (s *State) put(m Message) {
	if at := s.index(m.ID); at >= 0 {
		s.Messages[at].Text, s.Messages[at].Attachments = m.Text, m.Attachments
		return
	}
	s.Messages = append(s.Messages, m)
}

func (s *State) compact(c Compaction) error {
	from, to := s.index(c.From), s.index(c.To)
	if from < 0 || to < from {
		return fmt.Errorf("the compacted messages %q to %q were not found", c.From, c.To)
	}
	s.Messages = slices.Replace(s.Messages, from, to+1, c.By)
	return nil
}

// resumeAfter removes the messages after one, with their turns.
func (s *State) resumeAfter(id string) error {
	end := s.index(id) + 1
	if end == 0 {
		return fmt.Errorf("the message %q, after which the session was resumed, was not found", id)
	}
	s.Messages = s.Messages[:end]
	s.Turns = slices.DeleteFunc(s.Turns, func(t Turn) bool { return s.index(t.After) < 0 })
	return nil
}

// index returns the index of the message with an id, -1 for none. It is mostly one of the
// last.
func (s *State) index(id string) int {
	for i, m := range slices.Backward(s.Messages) {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// Prompts returns the texts of the messages that are not the model's and no results.
func (s *State) Prompts() (texts []string) {
	for _, m := range s.Messages {
		if m.Role == model.User {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// Tree returns the tree of the workspace after the last complete turn that saved one; "" if
// none did.
func (s *State) Tree() string {
	for _, t := range slices.Backward(s.Turns) {
		if t.Tree != "" {
			return t.Tree
		}
	}
	return ""
}

// Resume reduces the conversation to what a session continues with: all messages up to the
// end of the last complete turn whose tree, if it has one, exists, and of those after it the
// prompts before the next response, and that response, whose calls are repeated.
func (s *State) Resume(exists func(tree string) bool) error {
	for tree := s.Tree(); tree != "" && !exists(tree); tree = s.Tree() {
		s.Turns = s.Turns[:slices.IndexFunc(s.Turns, func(t Turn) bool { return t.Tree == tree })]
	}
	end := 0
	if len(s.Turns) > 0 {
		after := s.Turns[len(s.Turns)-1].After
		if end = s.index(after) + 1; end == 0 {
			return fmt.Errorf("message %q, the last one of turn %d, was not found", after, s.Turns[len(s.Turns)-1].Number)
		}
	}
	for end < len(s.Messages) && s.Messages[end].Role == model.User {
		end++
	}
	if end < len(s.Messages) && s.Messages[end].Role == model.Assistant {
		end++
	}
	s.Messages = s.Messages[:end]
	return nil
}
