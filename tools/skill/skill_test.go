package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/skill"

	"github.com/google/go-cmp/cmp"
)

func TestInvalidSkillsAreReportedAndLeftOut(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{
		".opencode/skill/a/SKILL.md":            tooltest.SkillFile("a", "first", "A"),
		".opencode/skills/b/SKILL.md":           tooltest.SkillFile("b", "second", "B"),
		".claude/skills/c/SKILL.md":             tooltest.SkillFile("c", "third", "C"),
		".agents/skills/group/d/SKILL.md":       tooltest.SkillFile("d", "fourth", "D"),
		".claude/skills/twice/SKILL.md":         tooltest.SkillFile("twice", "old", "old"),
		".opencode/skills/twice/SKILL.md":       tooltest.SkillFile("twice", "new", "new"),
		"../shared/e/SKILL.md":                  tooltest.SkillFile("e", "fifth", "E"),
		"skills/f/SKILL.md":                     tooltest.SkillFile("f", "not looked for", "F"),
		".claude/skills/nameless/SKILL.md":      "---\ndescription: x\n---\n",
		".claude/skills/silent/SKILL.md":        "---\nname: silent\n---\n",
		".claude/skills/odd/SKILL.md":           tooltest.SkillFile("../../etc", "x", ""),
		".claude/skills/headless/SKILL.md":      "# A skill\n",
		".claude/skills/long/SKILL.md":          tooltest.SkillFile("long", strings.Repeat("x", 1025), ""),
		".claude/skills/large/SKILL.md":         tooltest.SkillFile("large", "x", strings.Repeat("x", 300<<10)),
		".claude/skills/1/2/3/4/5/6/7/SKILL.md": tooltest.SkillFile("deep", "x", ""),
	})
	s.Symlink(s.Outside+"/secret", ".claude/skills/c/../link.md")
	s.Put(".claude/skills/linked/", "")
	s.Symlink("../../../../work-beside/secret", ".claude/skills/linked/SKILL.md")
	problems := s.WithSkills(filepath.Join(s.Base, "shared"), filepath.Join(s.Base, "missing"))
	var got []string
	for _, k := range s.Env.Skills.List {
		got = append(got, k.Name+": "+k.Description+" in "+strings.TrimPrefix(k.Dir, s.Base+"/"))
	}
	want := []string{
		"a: first in work/.opencode/skill/a", "b: second in work/.opencode/skills/b", "c: third in work/.claude/skills/c", "d: fourth in work/.agents/skills/group/d",
		"e: fifth in shared/e", "twice: new in work/.opencode/skills/twice",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	claude := "skill $B/work/.claude/skills/"
	want = []string{
		"find skills: open $B/missing: no such file or directory",
		claude + "headless/SKILL.md: file does not start with frontmatter between two lines of ---",
		claude + "large/SKILL.md: file exceeds 256 KiB",
		claude + "linked/SKILL.md: not a regular file",
		claude + "long/SKILL.md: description too long: 1025 bytes, maximum 1024",
		claude + "nameless/SKILL.md: frontmatter has no name",
		claude + `odd/SKILL.md: invalid name "../../etc": must be at most 64 letters, digits, hyphens, dots and underscores`,
		claude + "silent/SKILL.md: frontmatter has no description, so a model can't know when to load the skill",
		"duplicate skill twice in $B/work/.claude/skills/twice and $B/work/.opencode/skills/twice; the latter is used",
	}
	if diff := cmp.Diff(tooltest.Sorted(want), problems); diff != "" {
		t.Error(diff)
	}
}

func TestSkillIsLoadedAsText(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{
		".claude/skills/deploy/SKILL.md":        tooltest.SkillFile("deploy", "how to deploy", "\n# Deploy\n\nRun `scripts/go.sh`.\n"),
		".claude/skills/deploy/scripts/go.sh":   "touch pwned",
		".claude/skills/deploy/.git/config":     "",
		".claude/skills/deploy/reference/x.txt": "",
	})
	if problems := s.WithSkills(); problems != nil {
		t.Fatal(problems)
	}
	before := s.Tree()
	out := s.Call("skill", tooltest.Args{"name": "deploy"})
	s.Want(out, tools.Completed)
	dir := s.Dir + "/.claude/skills/deploy"
	want := "<skill_content name=\"deploy\">\n# Deploy\n\nRun `scripts/go.sh`.\n\nBase directory of this skill: " + dir +
		"\nRelative paths in this skill are relative to that directory. The file list may be incomplete.\n\n<skill_files>\n<file>" + dir + "/reference/x.txt</file>\n<file>" + dir + "/scripts/go.sh</file>\n</skill_files>\n</skill_content>"
	if diff := cmp.Diff(want, out.Output); diff != "" {
		t.Error(diff)
	}
	if out.Title != "Loaded skill: deploy" {
		t.Error(out.Title)
	}
	s.Unchanged(before)
	s.Want(s.Call("skill", tooltest.Args{"name": "deplyo"}), tools.Failed, `skill "deplyo" not found; available skills: deploy`)
	for i := range 30 {
		s.Put(filepath.Join(".claude/skills/deploy/many", string(rune('a'+i))+".txt"), "")
	}
	if n := strings.Count(s.Call("skill", tooltest.Args{"name": "deploy"}).Output, "<file>"); n != skill.MaxSample {
		t.Errorf("%d files are listed", n)
	}
	if err := os.Remove(filepath.Join(dir, "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	s.Want(s.Call("skill", tooltest.Args{"name": "deploy"}), tools.Failed, "load skill deploy: ")
}

func TestADeniedSkillIsHidden(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{
		".claude/skills/a/SKILL.md": tooltest.SkillFile("internal-a", "secret thing", "A"), ".claude/skills/b/SKILL.md": tooltest.SkillFile("b", "open thing", "B"),
	})
	s.Deny("skill", "internal-*")
	s.WithSkills()
	if text := s.Spec("skill").Description; !strings.Contains(text, "- b: open thing") || strings.Contains(text, "secret") {
		t.Errorf("the model reads %s", text)
	}
	s.Want(s.Call("skill", tooltest.Args{"name": "internal-a"}), tools.Denied, `skill: {"internal-*": deny} (m.yaml:4)`)
	s.Want(s.Call("skill", tooltest.Args{"name": "x"}), tools.Failed, "available skills: b")
	s.Want(s.Call("skill", tooltest.Args{"name": "b"}), tools.Completed)
}

func TestSkillToolWithoutSkills(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.Want(s.Call("skill", tooltest.Args{"name": "x"}), tools.Failed, `skill "x" not found; no skills are available`)
}

func TestSkillFilesAreReadable(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{
		"../shared/e/SKILL.md": tooltest.SkillFile("e", "fifth", "E"), "../shared/e/ref/x.txt": "the reference\n", "../shared/e/.env": "K=1\n", "../shared/other.txt": "other\n",
	})
	s.WithSkills(filepath.Join(s.Base, "shared"))
	s.Symlink(s.Outside+"/secret", "../shared/e/link.txt")
	dir := s.Base + "/shared/e"
	before := s.Tree()
	s.Want(s.Call("read", tooltest.Args{"filePath": dir + "/ref/x.txt"}), tools.Completed, "1: the reference")
	s.Want(s.Call("grep", tooltest.Args{"pattern": "reference|K=", "path": dir}), tools.Completed, "Found 1 match")
	s.Want(s.Call("list", tooltest.Args{"path": dir}), tools.Completed, "x.txt")
	s.Want(s.Call("bash", tooltest.Args{"command": "cat ../shared/e/ref/x.txt"}), tools.Completed, "the reference")
	for _, name := range []string{dir + "/.env", dir + "/link.txt", s.Base + "/shared/other.txt", dir + "/../other.txt"} {
		s.Want(s.Call("read", tooltest.Args{"filePath": name}), tools.Denied)
		s.Want(s.Call("bash", tooltest.Args{"command": "cat " + name}), tools.Denied)
	}
	s.Want(s.Call("write", tooltest.Args{"filePath": dir + "/ref/x.txt", "content": "x"}), tools.Denied)
	s.Want(s.Call("bash", tooltest.Args{"command": "echo x > " + dir + "/new"}), tools.Denied)
	s.Deny("skill", "e")
	s.Want(s.Call("read", tooltest.Args{"filePath": dir + "/ref/x.txt"}), tools.Denied)
	s.Unchanged(before)
}

func TestLoadingAnInvalidSkillReportsItsError(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{
		".claude/skills/silent/SKILL.md": "---\nname: silent\n---\n",
		".claude/skills/plain/SKILL.md":  tooltest.SkillFile("plain", "Use when: things", "the body"),
	})
	s.WithSkills()
	s.Want(s.Call("skill", tooltest.Args{"name": "silent"}), tools.Failed, `skill "silent" can't be loaded: `+s.Dir+"/.claude/skills/silent/SKILL.md: frontmatter has no description")
	s.Want(s.Call("skill", tooltest.Args{"name": "other"}), tools.Failed, `skill "other" not found; available skills: plain`)
	s.Want(s.Call("skill", tooltest.Args{"name": "plain"}), tools.Completed, "the body")
}
