package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/frontmatter"
	"github.com/millhand/millhand/tools/cut"
)

// Limits of skills.
const (
	maxSize        = 256 << 10 // bytes of a SKILL.md
	maxName        = 64        // bytes
	maxDescription = 1024      // bytes of a description
	maxListed      = 400       // bytes of a description shown in the tool's description
	maxSkills      = 100
	maxDepth       = 6
	maxWalk        = 5000 // files and directories visited in one skills directory
	maxSample      = 10   // files of a skill that its result lists
)

// Skill is a directory with a SKILL.md: instructions that a model loads when it
// needs them. Loading a skill runs nothing.
type Skill struct {
	Name        string
	Description string
	Dir         string // absolute
}

// Error is the error of an invalid SKILL.md.
type Error struct {
	File string // the SKILL.md
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("skill %s: %v", e.File, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// head is the frontmatter of a SKILL.md; other keys are ignored.
type head struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// Dirs returns the directories of a workspace that are searched for
// skills. A skill in a later one replaces one with the same name in an earlier
// one.
func Dirs() []string {
	return []string{".claude/skills", ".agents/skills", ".opencode/skill", ".opencode/skills"}
}

// Set are the skills of a session.
type Set struct {
	List     []Skill // by name
	Problems []error // of invalid ones, reported to a model that loads one of them
}

// Find searches a workspace's usual directories for skills, unless it is nil, then dirs,
// which are absolute.
func Find(space *workspace.Workspace, dirs []string) Set {
	found := map[string]Skill{}
	var problems []error
	for _, dir := range Dirs() {
		if space == nil {
			break
		}
		problems = append(problems, skillsBelow(space.Root(), dir, found)...)
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			problems = append(problems, fmt.Errorf("find skills: %w", err))
			continue
		}
		problems = append(problems, skillsBelow(root, ".", found)...)
		root.Close()
	}
	var skills []Skill
	for _, s := range found {
		skills = append(skills, s)
	}
	slices.SortFunc(skills, func(a, b Skill) int { return cmp.Compare(a.Name, b.Name) })
	return Set{skills[:min(len(skills), maxSkills)], problems}
}

// skillsBelow adds the skills below one directory to found.
func skillsBelow(root *os.Root, dir string, found map[string]Skill) []error {
	var problems []error
	seen := 0
	fs.WalkDir(root.FS(), dir, func(name string, e fs.DirEntry, err error) error { //nolint:errcheck // the function returns only fs.SkipDir and fs.SkipAll
		seen++
		switch {
		case err != nil: // missing or unreadable: no skills
			return fs.SkipDir
		case seen > maxWalk:
			return fs.SkipAll
		case e.IsDir() && strings.Count(name, "/")-strings.Count(dir, "/") >= maxDepth:
			return fs.SkipDir
		case e.IsDir() || e.Name() != "SKILL.md":
			return nil
		}
		skill, err := readSkill(root, name)
		if err != nil {
			problems = append(problems, &Error{File: path.Join(root.Name(), name), Err: err})
			return nil //nolint:nilerr // returned with the others
		}
		if other, ok := found[skill.Name]; ok {
			problems = append(problems, fmt.Errorf("duplicate skill %s in %s and %s; the latter is used", skill.Name, other.Dir, skill.Dir))
		}
		found[skill.Name] = skill
		return nil
	})
	return problems
}

// readSkill reads the frontmatter of a SKILL.md.
func readSkill(root *os.Root, name string) (Skill, error) {
	text, err := readText(root, name)
	if err != nil {
		return Skill{}, err
	}
	var h head
	if _, err := frontmatter.Parse(text, &h); err != nil {
		return Skill{}, err
	}
	h.Name, h.Description = strings.TrimSpace(h.Name), strings.TrimSpace(h.Description)
	switch {
	case h.Name == "":
		return Skill{}, errors.New("frontmatter has no name")
	case !isName(h.Name):
		return Skill{}, fmt.Errorf("invalid name %q: must be at most %d letters, digits, hyphens, dots and underscores", cut.Title(h.Name), maxName)
	case h.Description == "":
		return Skill{}, errors.New("frontmatter has no description, so a model can't know when to load the skill")
	case len(h.Description) > maxDescription:
		return Skill{}, fmt.Errorf("description too long: %d bytes, maximum %d", len(h.Description), maxDescription)
	}
	return Skill{Name: h.Name, Description: h.Description, Dir: path.Join(root.Name(), path.Dir(name))}, nil
}

func isName(name string) bool {
	return len(name) <= maxName && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// readText reads a SKILL.md, which must be a regular file below root.
func readText(root *os.Root, name string) (string, error) {
	if st, err := root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return "", workspace.ErrNotRegular
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fmt.Errorf("open: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	if len(data) > maxSize {
		return "", fmt.Errorf("file exceeds %d KiB", maxSize>>10)
	}
	return string(data), nil
}
