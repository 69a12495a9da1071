package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func skillFile(name, description, body string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + body
}

// withSkills finds a stage's skills, and returns what was wrong with others.
func (s *stage) withSkills(dirs ...string) []string {
	s.Helper()
	skills := FindSkills(s.env.Workspace, dirs)
	s.equip(func(env *Env) { env.Skills = skills })
	var texts []string
	for _, p := range skills.Problems {
		texts = append(texts, strings.ReplaceAll(p.Error(), s.base, "$B"))
	}
	return sorted(texts)
}

func TestFindSkills(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{
		".opencode/skill/a/SKILL.md":            skillFile("a", "first", "A"),
		".opencode/skills/b/SKILL.md":           skillFile("b", "second", "B"),
		".claude/skills/c/SKILL.md":             skillFile("c", "third", "C"),
		".agents/skills/group/d/SKILL.md":       skillFile("d", "fourth", "D"),
		".claude/skills/twice/SKILL.md":         skillFile("twice", "old", "old"),
		".opencode/skills/twice/SKILL.md":       skillFile("twice", "new", "new"),
		"../shared/e/SKILL.md":                  skillFile("e", "fifth", "E"),
		"skills/f/SKILL.md":                     skillFile("f", "not looked for", "F"),
		".claude/skills/nameless/SKILL.md":      "---\ndescription: x\n---\n",
		".claude/skills/silent/SKILL.md":        "---\nname: silent\n---\n",
		".claude/skills/odd/SKILL.md":           skillFile("../../etc", "x", ""),
		".claude/skills/headless/SKILL.md":      "# A skill\n",
		".claude/skills/long/SKILL.md":          skillFile("long", strings.Repeat("x", 1025), ""),
		".claude/skills/large/SKILL.md":         skillFile("large", "x", strings.Repeat("x", 300<<10)),
		".claude/skills/1/2/3/4/5/6/7/SKILL.md": skillFile("deep", "x", ""),
	})
	s.symlink(s.outside+"/secret", ".claude/skills/c/../link.md")
	s.put(".claude/skills/linked/", "")
	s.symlink("../../../../work-beside/secret", ".claude/skills/linked/SKILL.md")
	problems := s.withSkills(filepath.Join(s.base, "shared"), filepath.Join(s.base, "missing"))
	var got []string
	for _, k := range s.env.Skills.List {
		got = append(got, k.Name+": "+k.Description+" in "+strings.TrimPrefix(k.Dir, s.base+"/"))
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
	if diff := cmp.Diff(sorted(want), problems); diff != "" {
		t.Error(diff)
	}
}

func TestSkillIsLoadedAsText(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{
		".claude/skills/deploy/SKILL.md":        skillFile("deploy", "how to deploy", "\n# Deploy\n\nRun `scripts/go.sh`.\n"),
		".claude/skills/deploy/scripts/go.sh":   "touch pwned",
		".claude/skills/deploy/.git/config":     "",
		".claude/skills/deploy/reference/x.txt": "",
	})
	if problems := s.withSkills(); problems != nil {
		t.Fatal(problems)
	}
	before := s.tree()
	out := s.call("skill", args{"name": "deploy"})
	s.want(out, Completed)
	dir := s.dir + "/.claude/skills/deploy"
	want := "<skill_content name=\"deploy\">\n# Deploy\n\nRun `scripts/go.sh`.\n\nBase directory of this skill: " + dir +
		"\nRelative paths in this skill are relative to that directory. The file list may be incomplete.\n\n<skill_files>\n<file>" + dir + "/reference/x.txt</file>\n<file>" + dir + "/scripts/go.sh</file>\n</skill_files>\n</skill_content>"
	if diff := cmp.Diff(want, out.Output); diff != "" {
		t.Error(diff)
	}
	if out.Title != "Loaded skill: deploy" {
		t.Error(out.Title)
	}
	s.unchanged(before)
	s.want(s.call("skill", args{"name": "deplyo"}), Failed, `skill "deplyo" not found; available skills: deploy`)
	for i := range 30 {
		s.put(filepath.Join(".claude/skills/deploy/many", string(rune('a'+i))+".txt"), "")
	}
	if n := strings.Count(s.call("skill", args{"name": "deploy"}).Output, "<file>"); n != maxSkillSample {
		t.Errorf("%d files are listed", n)
	}
	if err := os.Remove(filepath.Join(dir, "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	s.want(s.call("skill", args{"name": "deploy"}), Failed, "load skill deploy: ")
}

func TestADeniedSkillIsHidden(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{
		".claude/skills/a/SKILL.md": skillFile("internal-a", "secret thing", "A"), ".claude/skills/b/SKILL.md": skillFile("b", "open thing", "B"),
	})
	s.deny("skill", "internal-*")
	s.withSkills()
	tool, _ := s.tools.lookup("skill")
	if text := tool.Spec().Description; !strings.Contains(text, "- b: open thing") || strings.Contains(text, "secret") {
		t.Errorf("the model reads %s", text)
	}
	s.want(s.call("skill", args{"name": "internal-a"}), Denied, `skill: {"internal-*": deny} (m.yaml:4)`)
	s.want(s.call("skill", args{"name": "x"}), Failed, "available skills: b")
	s.want(s.call("skill", args{"name": "b"}), Completed)
}

func TestSkillToolWithoutSkills(t *testing.T) {
	s := setUp(t, "readonly", nil)
	s.want(s.call("skill", args{"name": "x"}), Failed, `skill "x" not found; no skills are available`)
}

func TestSkillFilesAreReadable(t *testing.T) {
	s := setUp(t, "build", map[string]string{
		"../shared/e/SKILL.md": skillFile("e", "fifth", "E"), "../shared/e/ref/x.txt": "the reference\n", "../shared/e/.env": "K=1\n", "../shared/other.txt": "other\n",
	})
	s.withSkills(filepath.Join(s.base, "shared"))
	s.symlink(s.outside+"/secret", "../shared/e/link.txt")
	dir := s.base + "/shared/e"
	before := s.tree()
	s.want(s.call("read", args{"filePath": dir + "/ref/x.txt"}), Completed, "1: the reference")
	s.want(s.call("grep", args{"pattern": "reference|K=", "path": dir}), Completed, "Found 1 match")
	s.want(s.call("list", args{"path": dir}), Completed, "x.txt")
	s.want(s.call("bash", args{"command": "cat ../shared/e/ref/x.txt"}), Completed, "the reference")
	for _, name := range []string{dir + "/.env", dir + "/link.txt", s.base + "/shared/other.txt", dir + "/../other.txt"} {
		s.want(s.call("read", args{"filePath": name}), Denied)
		s.want(s.call("bash", args{"command": "cat " + name}), Denied)
	}
	s.want(s.call("write", args{"filePath": dir + "/ref/x.txt", "content": "x"}), Denied)
	s.want(s.call("bash", args{"command": "echo x > " + dir + "/new"}), Denied)
	s.deny("skill", "e")
	s.want(s.call("read", args{"filePath": dir + "/ref/x.txt"}), Denied)
	s.unchanged(before)
}

func TestLoadingAnInvalidSkillReportsItsError(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{
		".claude/skills/silent/SKILL.md": "---\nname: silent\n---\n",
		".claude/skills/plain/SKILL.md":  skillFile("plain", "Use when: things", "the body"),
	})
	s.withSkills()
	s.want(s.call("skill", args{"name": "silent"}), Failed, `skill "silent" can't be loaded: `+s.dir+"/.claude/skills/silent/SKILL.md: frontmatter has no description")
	s.want(s.call("skill", args{"name": "other"}), Failed, `skill "other" not found; available skills: plain`)
	s.want(s.call("skill", args{"name": "plain"}), Completed, "the body")
}
