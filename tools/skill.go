package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/frontmatter"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed skill.md
var skillDescription string

type skillInput struct {
	Name string `json:"name" jsonschema:"name of the skill to load"`
}

// skillTool returns the skill tool; its description lists the skills that the
// profile allows.
func skillTool(env *Env) Tool {
	var text strings.Builder
	text.WriteString(strings.TrimSpace(skillDescription))
	for _, s := range env.skills() {
		fmt.Fprintf(&text, "\n- %s: %s", s.Name, cut.Bytes(textcut.OneLine(s.Description), maxSkillListed, false))
	}
	if len(env.skills()) == 0 {
		text.WriteString("\n(none)")
	}
	return tool.Define(Spec{Name: "skill", Description: text.String() + "\n", ReadOnly: true, Deadline: time.Minute}, prepareSkill)
}

// skills lists the skills that the profile allows.
func (env *Env) skills() []Skill {
	return slices.DeleteFunc(slices.Clone(env.Skills.List), func(s Skill) bool { return !env.Profile.Allows("skill", s.Name) })
}

// ofSkill reports whether a path outside the workspace is in the directory of
// an allowed skill; its files may be read if the read rules allow it.
func (env *Env) ofSkill(p workspace.Path) bool {
	return p.Outside && slices.ContainsFunc(env.skills(), func(s Skill) bool {
		dir, err := env.Workspace.Resolve(s.Dir)
		return err == nil && pathtree.Within(p.Abs, dir.Abs)
	})
}

func prepareSkill(env *Env, in skillInput) (Pending, error) {
	needs := []permission.Request{permission.Need("skill", in.Name)}
	return Pending{Title: in.Name, Needs: needs, Do: func(context.Context) (Result, error) {
		i := slices.IndexFunc(env.Skills.List, func(s Skill) bool { return s.Name == in.Name })
		if i < 0 {
			return Result{}, env.skillNotFound(in.Name)
		}
		return loadSkill(env.Skills.List[i])
	}}, nil
}

// skillNotFound returns the error for an unknown skill or, if its directory
// exists, for an invalid one.
func (env *Env) skillNotFound(name string) error {
	for _, problem := range env.Skills.Problems {
		if broken := (*SkillError)(nil); errors.As(problem, &broken) && path.Base(path.Dir(broken.File)) == name {
			return fmt.Errorf("skill %q can't be loaded: %s: %w", cut.Title(name), broken.File, broken.Err)
		}
	}
	var names []string
	for _, s := range env.skills() {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("skill %q not found; no skills are available", cut.Title(name))
	}
	return fmt.Errorf("skill %q not found; available skills: %s", cut.Title(name), strings.Join(names, ", "))
}

// loadSkill returns a skill's text and the names of some of its files.
func loadSkill(s Skill) (Result, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return Result{}, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	defer root.Close()
	text, err := readSkillText(root, "SKILL.md")
	if err != nil {
		return Result{}, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	body, err := frontmatter.Parse(text, &skillHead{})
	if err != nil {
		return Result{}, fmt.Errorf("load skill %s: %w", s.Name, err)
	}
	files := sampleFiles(root)
	var out strings.Builder
	fmt.Fprintf(&out, "<skill_content name=%q>\n%s\n\nBase directory of this skill: %s\nRelative paths in this skill are relative to that directory. The file list may be incomplete.\n\n<skill_files>\n", s.Name, strings.TrimSpace(body), s.Dir)
	for _, f := range files {
		fmt.Fprintf(&out, "<file>%s</file>\n", path.Join(s.Dir, f))
	}
	out.WriteString("</skill_files>\n</skill_content>")
	return Result{Title: "Loaded skill: " + s.Name, Output: out.String()}, nil
}

// sampleFiles lists some files of a skill's directory, without SKILL.md.
func sampleFiles(root *os.Root) []string {
	var files []string
	seen := 0
	fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error { //nolint:errcheck // the function returns only fs.SkipDir and fs.SkipAll
		seen++
		switch {
		case err != nil || e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case seen > maxSkillWalk || len(files) >= maxSkillSample:
			return fs.SkipAll
		case !e.IsDir() && name != "SKILL.md":
			files = append(files, name)
		}
		return nil
	})
	return files
}
