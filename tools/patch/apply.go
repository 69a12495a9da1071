package patch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Read returns the content of a file that the patch names. ok is false if the file
// does not exist but can be created. A path that is not a regular file, is unreadable
// or is below a file is an error.
type Read func(path string) (content []byte, ok bool, err error)

// ErrNothing is the error of a patch that changes no file.
var ErrNothing = errors.New("the patch changes nothing")

// Apply returns the writes that apply the patch, at most one
// per file, deletions last. It reads each file once and writes nothing.
//
// Sections are applied in order, each to the result of the previous ones.
// Add and move replace existing files. An updated file keeps its newline at the end,
// or the lack of it, unless lines are added there. Errors name the section's file and the hunk; they are addressed to the author
// of the patch. Patches that would take more than a few seconds to apply are refused.
func Apply(p Patch, read Read) ([]Write, error) {
	a := applier{read: read, files: map[string]*state{}, work: newWork()}
	for _, f := range p.Files {
		if err := a.section(f); err != nil {
			return nil, fmt.Errorf("%s %s: %w", f.Op, f.Path, err)
		}
	}
	return a.writes()
}

type applier struct {
	read  Read
	files map[string]*state
	order []*state // path as first named
	work  *work
}

// state is a file before the patch and after the sections applied so far.
type state struct {
	path    string
	before  []byte
	existed bool
	now     []byte
	exists  bool
	origin  string // key of the file that this was before the patch, or ""
	gone    error  // why the file no longer exists
	notes   []string
}

// file returns the state of the file at a path. The first call reads the file.
func (a *applier) file(name string) (*state, error) {
	if s, ok := a.files[key(name)]; ok {
		return s, nil
	}
	content, ok, err := a.read(name)
	if err != nil {
		return nil, err
	}
	s := &state{path: name, before: content, existed: ok, now: content, exists: ok, gone: errors.New("file not found")}
	if ok {
		s.origin = key(name)
	}
	a.files[key(name)] = s
	a.order = append(a.order, s)
	return s, nil
}

func (a *applier) section(f File) error {
	s, err := a.file(f.Path)
	if err != nil {
		return err
	}
	switch {
	case f.Op == Add:
		content := f.Content
		if s.exists && bytes.HasPrefix(s.now, []byte(bom)) && !strings.HasPrefix(content, bom) {
			content = bom + content
		}
		s.put([]byte(content), s.origin)
		return nil
	case !s.exists:
		return s.gone
	case f.Op == Delete:
		s.remove(errors.New("file was deleted by an earlier section of the patch"))
		return nil
	}
	return a.update(s, f)
}

func (a *applier) update(s *state, f File) error {
	content := s.now
	if len(f.Hunks) > 0 {
		changed, notes, err := change(string(content), f.Hunks, a.work)
		if err != nil {
			return err
		}
		content = []byte(changed)
		s.notes = append(s.notes, notes...)
	}
	if f.MoveTo == "" || key(f.MoveTo) == key(f.Path) {
		s.put(content, s.origin)
		return nil
	}
	target, err := a.file(f.MoveTo)
	if err != nil {
		return fmt.Errorf("move to %s: %w", f.MoveTo, err)
	}
	target.put(content, s.origin)
	target.notes, s.notes = s.notes, nil
	s.remove(fmt.Errorf("file was moved to %s by an earlier section of the patch", f.MoveTo))
	return nil
}

func (s *state) put(content []byte, origin string) {
	s.now, s.exists, s.origin = content, true, origin
}

func (s *state) remove(why error) {
	s.now, s.exists, s.origin, s.gone = nil, false, "", why
}
