package journal

import (
	"bufio"
	"bytes"
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

	restored *State // of a Resume: the conversation, if it is not a prefix of the one before
}

// maxLine limits a line, in bytes: far above a message with all its attachments.
const maxLine = 256 << 20

// Read reads a file. torn is the length in bytes of an incomplete last line, which is
// ignored, 0 for none. Another invalid line is an error with its number.
func Read(r io.Reader) (s *State, torn int, err error) {
	s = &State{}
	in := bufio.NewReaderSize(r, 8<<10) // most sessions are short
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

// add adds a line.
func (s *State) add(text []byte) error {
	k, err := kindOf(text)
	if err != nil {
		return err
	}
	var e Entry
	var content any
	switch k {
	case sessionLine:
		e.Session = new(Session)
		content = e.Session
	case messageLine:
		e.Message = new(Message)
		content = e.Message
	case compactionLine:
		e.Compaction = new(Compaction)
		content = e.Compaction
	case turnLine:
		e.Turn = new(Turn)
		content = e.Turn
	case resumeLine:
		e.Resume = new(Resume)
		content = e.Resume
	default: // of a later release
		return nil
	}
	if err := json.Unmarshal(text, content); err != nil {
		return err
	}
	return s.apply(e)
}

// kindOf returns the kind of a line. That of a line as a Writer writes it is at its start: the
// line is decoded only once.
func kindOf(text []byte) (kind, error) {
	if rest, ok := bytes.CutPrefix(text, []byte(`{"type":"`)); ok {
		for _, k := range []kind{messageLine, turnLine, sessionLine, compactionLine, resumeLine} {
			if bytes.HasPrefix(rest, []byte(k+`",`)) {
				return k, nil
			}
		}
	}
	var l line
	err := json.Unmarshal(text, &l)
	return l.Type, err
}

// apply adds an entry.
func (s *State) apply(e Entry) (err error) {
	switch {
	case e.Session != nil:
		s.Session, s.Messages, s.Turns = *e.Session, nil, nil
	case e.Message != nil:
		s.put(*e.Message)
	case e.Compaction != nil:
		err = s.compact(*e.Compaction)
	case e.Turn != nil:
		// A process that resumes completes its first turn again.
		s.Turns = append(slices.DeleteFunc(s.Turns, func(t Turn) bool { return t.Number == e.Turn.Number }), *e.Turn)
	case e.Resume != nil:
		err = s.resumeAfter(&e)
	}
	if err == nil {
		s.History = append(s.History, e)
	}
	return err
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

// resumeAfter removes the messages after one, with their turns. A message that is not in the
// conversation any more returns, with those before it: they were compacted, or removed by
// another resume.
func (s *State) resumeAfter(e *Entry) error {
	id := e.Resume.After
	end := s.index(id) + 1
	if end == 0 && e.restored == nil {
		at, err := s.At(id)
		if err != nil {
			return fmt.Errorf("the message %q, after which the session was resumed, was not found", id)
		}
		e.restored = at
	}
	if end == 0 {
		s.Messages, s.Turns = slices.Clone(e.restored.Messages), slices.Clone(e.restored.Turns)
		return nil
	}
	removed := map[string]bool{}
	for _, m := range s.Messages[end:] {
		removed[m.ID] = true
	}
	s.Messages = s.Messages[:end]
	s.Turns = slices.DeleteFunc(s.Turns, func(t Turn) bool { return removed[t.After] })
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

// DropUnsaved forgets the ends of the turns from the first one on whose calls can have changed files and whose state is in no tree. changes
// reports whether a tool can change files.
func (s *State) DropUnsaved(changes func(tool string) bool) {
	unsaved, from := -1, 0
	for i, t := range s.Turns {
		end := max(s.index(t.After)+1, from)
		changed := slices.ContainsFunc(s.Messages[from:end], func(m Message) bool { return m.Call != nil && changes(m.Call.Tool) })
		from = end
		switch {
		case t.Tree != "":
			unsaved = -1
		case changed && unsaved < 0:
			unsaved = i
		}
	}
	if unsaved >= 0 {
		s.Turns = s.Turns[:unsaved]
	}
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
