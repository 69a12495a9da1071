package fleet

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

//go:embed testdata/migrate.py
var migration string

// program returns the program of an agent with habits.
func program(habits string) string { return strings.Replace(migration, "@HABITS@", habits, 1) }

// habits are what agents do beyond the migration. CI refuses the files of untidy ones.
var habits = []string{"", "untidy", "", "", "untidy", "remark", "", "", "octal", ""}

// A style is how an agent changes files.
const (
	byProgram = iota // writes and runs a program
	byWriting        // reads and writes the files
	byPatch          // applies a patch
	styles
)

// Agents do not write more by hand.
const (
	maxWritten = 6 // files
	maxTyped   = 60 << 10
)

// step is one turn of an agent.
type step []call

type call struct {
	tool string
	args map[string]string
}

func bash(command string) step {
	return step{{"bash", map[string]string{"command": command, "description": "work"}}}
}

func python(text string) step {
	return bash("cat >\"$TMPDIR/work.py\" <<'END_OF_WORK'\n" + text + "END_OF_WORK\npython3 \"$TMPDIR/work.py\"")
}

var prompts = regexp.MustCompile(`(Replace io/ioutil by .*) in the repository (\S+)\.`)

// play is the model. What it does follows from the conversation, and from the files of the
// repository, which an agent would read.
func (f *fleet) play(req wiretest.Request) *script.Turn {
	prompt, repo, last, n := "", "", "", 0
	for _, m := range req.Messages {
		if found := prompts.FindStringSubmatch(m.Content); found != nil && repo == "" {
			prompt, repo = found[1], found[2]
		}
		switch m.Role {
		case string(model.Assistant):
			n++
		case string(model.User):
			last, n = m.Content, 0
		}
	}
	var plan []step
	switch {
	case strings.HasPrefix(last, "Write a script"):
		return distilled(n)
	case strings.Contains(last, "Fix the failed checks"):
		plan = fix(last)
	case strings.Contains(last, "Resolve the conflicts"), strings.Contains(last, "Adapt the change"):
		plan = []step{python(program("resolve"))}
	case strings.Contains(prompt, "fsutil"):
		plan = []step{python(program("wrong"))}
	case n == 0:
		plan = f.migrate(repo)
		f.mu.Lock()
		f.plans[repo] = plan
		f.mu.Unlock()
	default:
		f.mu.Lock()
		plan = f.plans[repo]
		f.mu.Unlock()
	}
	if n >= len(plan) {
		return &script.Turn{Text: "Replaced io/ioutil.", Finish: model.FinishStop}
	}
	turn := &script.Turn{Finish: model.FinishTools}
	for i, c := range plan[n] {
		input, _ := json.Marshal(c.args) //nolint:errchkjson // strings can be encoded
		turn.Calls = append(turn.Calls, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, i), Name: c.tool, Input: string(input)})
	}
	return turn
}

// migrate returns the work of an agent on a repository.
func (f *fleet) migrate(repo string) []step {
	sum := fnv.New32a()
	fmt.Fprint(sum, repo)
	habit, style := habits[int(sum.Sum32()>>8)%len(habits)], int(sum.Sum32()>>16)%styles
	complete := []step{python(program(habit))}
	if style == byProgram {
		return complete
	}
	dir, err := os.MkdirTemp(f.dir, "agent-")
	f.must(err)
	defer os.RemoveAll(dir)
	at, err := filepath.Rel(f.dir, dir)
	f.must(err)
	f.run(".", "git", "clone", "-q", "acme/"+repo+".git", dir)
	f.write(at+"/.git/work.py", program(habit))
	f.run(at, "python3", ".git/work.py")
	patch, err := f.command(at, "git", "diff", "--binary").Output()
	f.must(err)
	if len(patch) > maxTyped {
		return complete
	}
	if style == byPatch {
		return []step{bash("git apply <<'END_OF_PATCH'\n" + string(patch) + "END_OF_PATCH")}
	}
	var read, write step
	typed := 0
	for name := range strings.Lines(f.run(at, "git", "diff", "--name-only")) {
		name = strings.TrimSpace(name)
		text, err := os.ReadFile(filepath.Join(dir, name))
		f.must(err)
		typed += len(text)
		read = append(read, call{"read", map[string]string{"filePath": name}})
		write = append(write, call{"write", map[string]string{"filePath": name, "content": string(text)}})
	}
	if len(write) > maxWritten || typed > maxTyped {
		return complete
	}
	return []step{read, write}
}

// distilled is the session that writes a script.
func distilled(n int) *script.Turn {
	if n == 0 {
		return &script.Turn{Calls: []model.ToolCall{{ID: "call_0", Name: "grep", Input: `{"pattern":"io/ioutil"}`}}, Finish: model.FinishTools}
	}
	text, _ := json.Marshal(map[string]string{"language": "python", "about": "Replaces io/ioutil, except renamed imports.", "script": program("strict")}) //nolint:errchkjson // likewise
	return &script.Turn{Text: string(text), Finish: model.FinishStop}
}

// noEntry is the log of a CI that requires an entry in CHANGES.md.
const noEntry = "CHANGES.md: no entry for this change\n"

var unformatted = regexp.MustCompile(`(?m)^(\S+\.go): not formatted$`)

// fix returns the work of an agent on failed checks, given their logs.
func fix(prompt string) []step {
	var files []string
	for _, m := range unformatted.FindAllStringSubmatch(prompt, -1) {
		files = append(files, "'"+m[1]+"'")
	}
	switch {
	case len(files) > 0:
		return []step{bash("gofmt -w " + strings.Join(files, " "))}
	case strings.Contains(prompt, noEntry):
		return []step{bash("echo '- io/ioutil is no longer used.' >>CHANGES.md")}
	}
	return nil
}
