package gitdir

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// configTexts are configuration files that git accepts.
var configTexts = []string{
	"[core]\n\tautocrlf = input ; comment\n\texcludesFile = \"a # b\" c\n",
	"[core] bare\n[CORE]Bare=no\\\n pe\n",
	"[remote \"a\\\"b\"]\n\turl = x\\ty\n\turl =\n[remote.C]\n\turl = 1\n",
	"\xef\xbb\xbf[filter \"lfs\"]\r\n\tclean = git-lfs clean -- %f\r\n\trequired\r\n",
	"[includeIf \"gitdir:~/x/\"]\n\tpath = y # z\n",
	"[A]A\n[A \"\"]A\n[b.]c=1\n[b]c=2\n",
	"[A]\nA=\"\" 0\n[A.b] c=0\r0\n[a \"B\\\\c\"]d=e\\tf\\\n",
}

// FuzzConfigIsReadAsGitReadsIt compares the values of configuration files with those
// that git prints. A file that git accepts is refused only for a NUL or a section without
// a name.
func FuzzConfigIsReadAsGitReadsIt(f *testing.F) {
	for _, seed := range configTexts {
		f.Add(seed)
	}
	git := gittest.GitProgram(f)
	spaces := strings.NewReplacer("\t", " ", "\r", " ") // git before 2.45 reads each as a space
	f.Fuzz(func(t *testing.T, text string) {
		ours, refused := ParseConfig([]byte(text))
		file := filepath.Join(t.TempDir(), "config")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		cmd := exec.CommandContext(t.Context(), git, "config", "--file", file, "--no-includes", "--null", "--list")
		cmd.Dir = t.TempDir()
		out, err := cmd.Output()
		if err != nil {
			return // git accepts fewer files, and then nobody can work in the repository
		}
		if refused != nil {
			if !strings.Contains(refused.Error(), "NUL") && !strings.Contains(refused.Error(), "section") {
				t.Errorf("git accepts what is refused here: %v\n%s", refused, text)
			}
			return
		}
		values := map[string][]string{}
		for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			name, value, ok := strings.Cut(entry, "\n")
			if !ok {
				value = "true" // the key has no value
			}
			if name != "" {
				values[name] = append(values[name], value)
			}
		}
		for name, want := range values {
			section, rest, _ := strings.Cut(name, ".")
			subsection, key := "", rest
			if dot := strings.LastIndexByte(rest, '.'); dot >= 0 {
				subsection, key = cmp.Or(rest[:dot], nameless), rest[dot+1:]
			}
			got := ours.Values(section, subsection, key)
			if spaces.Replace(strings.Join(got, "\x00")) != spaces.Replace(strings.Join(want, "\x00")) {
				t.Errorf("%s is %q, and for git it is %q in\n%s", name, got, want, text)
			}
		}
	})
}
