package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/internal/testing/runtest"
)

const kinds = `version: 1
profile: most
profiles: {most: {extends: build, permission: {bash: {"rm *": deny}}}}
model: script:turns.yaml
tasks:
  - {id: work, prompt: Work., verify: [{name: v, run: test -f b.txt}, {name: w, run: "true"}], untrusted: [docs/*], after_untrusted: {publish: patch}}
  - {id: fails, prompt: Work., model: "script:little.yaml", verify: [{name: v, run: test -f c.txt}], attempts: 2, baseline: must_fail}
  - {id: reviewed, prompt: Work., model: "script:short.yaml", review: {model: "script:reviewer.yaml"}}
  - {id: shaped, prompt: Work., model: "script:shaped.yaml", commit: false, output: {schema: {type: object, properties: {n: {type: integer}}, required: [n], additionalProperties: false}}}
  - {id: escalated, prompt: Work., model: "script:short.yaml", escalate: ["script:second.yaml"], verify: [{name: v, run: test -f c.txt}]}
`

const kindsTurns = `version: 1
turns:
  - calls:
      - {tool: read, args: {filePath: a.txt}}
      - {tool: read, args: {filePath: docs/a.png}}
      - {tool: bash, args: {command: "echo 7; cat a.txt"}}
      - {tool: bash, args: {command: "rm a.txt"}}
      - {tool: nosuch, args: {}}
  - calls: [{tool: task, args: {description: look, prompt: Look., subagent_type: explore}}]
  - calls: [{tool: task, args: {description: look, prompt: Look again., subagent_type: explore}}]
  - calls:
      - {tool: write, args: {filePath: b.txt, content: "first\n\n  sleep 3s\n"}}
      - {tool: edit, args: {filePath: a.txt, oldString: two, newString: "2"}}
  - text: Done.
agents:
  explore: {turns: [{calls: [{tool: read, args: {filePath: a.txt}}]}, {text: Nothing.}]}
`

// TestEveryPlantedDifferenceIsReported replays a run, and then changes each value of its record on which a replay depends, one at a
// time: each call, result, decision, verify command, patch line and end. The comparison finds all of them, and nothing in the unchanged record.
func TestEveryPlantedDifferenceIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	p := gittest.NewSandbox(t)
	p.Write(".gitignore", "out\nsame\n", "m.yaml", kinds, "turns.yaml", kindsTurns, "a.txt", "one\ntwo\n", "docs/a.png", pixel,
		"little.yaml", "version: 1\nturns: [{calls: [{tool: write, args: {filePath: b.txt, content: b}}]}, {text: Done.}, {text: Again.}]\n",
		"short.yaml", "version: 1\nturns: [{calls: [{tool: write, args: {filePath: b.txt, content: b}}]}, {text: Done.}]\n",
		"second.yaml", "version: 1\nturns: [{calls: [{tool: write, args: {filePath: c.txt, content: c}}]}, {text: Second.}]\n",
		"shaped.yaml", "version: 1\nturns: [{text: '{\"n\": 7}'}]\n",
		"reviewer.yaml", "version: 1\nturns: [{calls: [{tool: read, args: {filePath: b.txt}}]}, {text: '{\"verdict\": \"accepted\", \"objections\": []}'}]\n")
	p.Commit()
	env := map[string]string{"HOME": p.Home, "PATH": os.Getenv("PATH"), "TMPDIR": t.TempDir()}
	var out, log strings.Builder
	w := world.World{Dir: p.Root, In: strings.NewReader(""), Out: &out, Err: &log, Now: time.Now, Getenv: func(name string) string { return env[name] }, System: []string{t.TempDir()}}
	options := func(line string) invocation.Options { return runtest.Options(t, p.Root, strings.Fields(line)...) }
	dir, same := filepath.Join(p.Root, "out"), filepath.Join(p.Root, "same")
	recordedRun := options("m.yaml --sandbox off --report-dir " + dir)
	if err := runs.Run(t.Context(), w, recordedRun); err == nil || fault.ExitOf(err) != event.ExitFailed { // a job fails
		t.Fatalf("%v\n%s\n%s", err, out.String(), log.String())
	}
	out.Reset()
	if err := Run(t.Context(), w, options("--replay "+dir+" --report-dir "+same)); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), log.String())
	}
	if !strings.Contains(out.String(), "5 of 5 jobs replayed, 0 different") {
		t.Fatalf("%s\n%s", out.String(), log.String())
	}
	pl := planted{t: t, dir: dir, now: savedIn(t, same), counts: map[string]int{}, step: 1}
	if random := nightly.Random(t); !nightly.On() {
		pl.step = 17
		pl.from = random.IntN(pl.step)
	}
	pl.events()
	pl.sessions()
	pl.patches()
	for _, kind := range []string{"call.tool", "call.status", "decision.effect", "decision.rule", "verify", "baseline", "outcome", "attempts", "final_message", "output", "verdict", "untrusted", "result", "attachment", "patch"} {
		if pl.counts[kind] == 0 {
			t.Errorf("no difference of kind %s was planted", kind)
		}
	}
	t.Logf("planted and reported: %v", pl.counts)
}

// pixel is a PNG.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa7\x9a\xa0\xa0\x00\x00\x00\x00IEND\xaeB`\x82"

func savedIn(t *testing.T, dir string) recorded {
	t.Helper()
	past, _, err := savedrun.Past(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(dir, past)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// planted plants differences in the record of a run.
type planted struct {
	t      *testing.T
	dir    string
	now    recorded
	counts map[string]int

	from, step int // of the bytes that are changed
}

// found reports whether the comparison with the replay reports anything of the record as it is now. A record that can't be read is reported, too.
func (p *planted) found() bool {
	past, _, err := savedrun.Past(p.dir)
	if err != nil {
		return true
	}
	was, err := open(p.dir, past)
	if err != nil {
		return true
	}
	r := &replayed{was: was}
	for _, j := range was.run.Report.Jobs {
		if len(r.compare(j.ID, p.now)) > 0 {
			return true
		}
	}
	return false
}

// plant replaces a file for one comparison.
func (p *planted) plant(kind, what, file string, changed []byte) {
	p.t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if bytes.Equal(before, changed) {
		p.t.Fatalf("%s: nothing was planted", what)
	}
	p.write(file, changed)
	if p.counts[kind]++; !p.found() {
		p.t.Errorf("%s is not reported: %s", kind, what)
	}
	p.write(file, before)
}

func (p *planted) write(file string, data []byte) {
	p.t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// lines returns the lines of a file as JSON objects, which keep their numbers.
func (p *planted) lines(file string) (raw [][]byte, all []map[string]any) {
	p.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var v map[string]any
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil && err != io.EOF {
			p.t.Fatal(err)
		}
		raw, all = append(raw, line), append(all, v)
	}
	return raw, all
}

// with returns a file with another line; nil removes it.
func with(raw [][]byte, i int, v map[string]any) []byte {
	var b bytes.Buffer
	for at, line := range raw {
		switch {
		case at != i:
			b.Write(line)
		case v != nil:
			text, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			b.Write(append(text, '\n'))
		}
	}
	return b.Bytes()
}

// other returns another value of the same kind.
func other(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case json.Number:
		if v == "0" {
			return json.Number("1")
		}
		return v + "1"
	case string:
		for a, b := range map[string]string{"allow": "deny", "deny": "allow", "completed": "denied", "denied": "completed", "error": "completed", "passed": "failed", "failed": "passed", "accepted": "rejected"} {
			if v == a {
				return b
			}
		}
		return v + "x"
	}
	return "x"
}

// change plants another value for each key of a field of a line that is compared, and the line's absence.
func (p *planted) change(file string, raw [][]byte, i int, line map[string]any, field string, kinds map[string]string) {
	of, ok := line[field].(map[string]any)
	if !ok {
		return
	}
	if d, ok := of["decision"].(map[string]any); ok {
		for _, key := range []string{"effect", "rule"} {
			was := d[key]
			d[key] = other(was)
			p.plant("decision."+key, fmt.Sprintf("%s of %s", key, raw[i]), file, with(raw, i, line))
			d[key] = was
		}
	}
	for key, kind := range kinds {
		was, has := of[key]
		if !has || was == nil || was == "" {
			continue
		}
		of[key] = other(was)
		p.plant(kind, fmt.Sprintf("%s of %s", key, raw[i]), file, with(raw, i, line))
		of[key] = was
	}
}

func (p *planted) events() {
	file := filepath.Join(p.dir, "events.jsonl")
	raw, all := p.lines(file)
	last := map[string]int{} // line of the last update of a call
	for i, v := range all {
		if c, ok := v["call"].(map[string]any); ok {
			last[fmt.Sprint(v["session"], c["id"])] = i
		}
	}
	verify := map[string]string{"name": "verify", "passed": "verify", "exit_code": "verify", "attempt": "verify"}
	for i, v := range all {
		if c, ok := v["call"].(map[string]any); ok && last[fmt.Sprint(v["session"], c["id"])] == i {
			p.change(file, raw, i, v, "call", map[string]string{"tool": "call.tool", "status": "call.status"})
		}
		p.change(file, raw, i, v, "verify", verify)
		if v["verify"] != nil {
			p.plant("verify", "absence of "+string(raw[i]), file, with(raw, i, nil))
		}
		p.change(file, raw, i, v, "baseline", map[string]string{"name": "baseline", "passed": "baseline", "exit_code": "baseline"})
		p.change(file, raw, i, v, "job_end", map[string]string{"outcome": "outcome", "attempts": "attempts", "final_message": "final_message", "output": "output"})
		p.change(file, raw, i, v, "review", map[string]string{"verdict": "verdict"})
		p.change(file, raw, i, v, "untrusted", map[string]string{"what": "untrusted", "tool": "untrusted", "turn": "untrusted"})
	}
}

func (p *planted) sessions() {
	files, err := filepath.Glob(filepath.Join(p.dir, "sessions", "*.jsonl"))
	if err != nil || len(files) < 6 {
		p.t.Fatalf("%d sessions: %v", len(files), err)
	}
	for _, file := range files {
		raw, all := p.lines(file)
		for i, v := range all {
			m, ok := v["message"].(map[string]any)
			if !ok {
				m = v
			}
			if m["role"] != "tool" {
				continue
			}
			text := m["text"].(string)
			for at := p.from; at < len(text); at += p.step { // each byte
				if text[at] >= 0x80 {
					continue
				}
				changed := []byte(text)
				changed[at] ^= 1
				if changed[at] < ' ' {
					changed[at] = 'z'
				}
				m["text"] = string(changed)
				if varying().MatchString(text) && varying().ReplaceAllString(text, "~") == varying().ReplaceAllString(string(changed), "~") {
					continue // a duration
				}
				p.plant("result", fmt.Sprintf("byte %d of %s", at, raw[i]), file, with(raw, i, v))
			}
			if m["text"] = text; m["attachments"] != nil {
				list := m["attachments"].([]any)
				first := list[0].(map[string]any)
				was := first["data"]
				first["data"] = "AAAA"
				p.plant("attachment", string(raw[i]), file, with(raw, i, v))
				first["data"] = was
			}
			p.plant("result", "absence of "+string(raw[i]), file, with(raw, i, nil))
		}
	}
}

func (p *planted) patches() {
	files, err := filepath.Glob(filepath.Join(p.dir, "patches", "*.patch"))
	if err != nil || len(files) < 3 {
		p.t.Fatalf("%d patches: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		for at := p.from; at < len(text); at += p.step {
			changed := bytes.Clone(text)
			changed[at] ^= 1
			p.plant("patch", fmt.Sprintf("byte %d of %s", at, filepath.Base(file)), file, changed)
		}
		p.plant("patch", "end of "+filepath.Base(file), file, append(bytes.Clone(text), '\n'))
		if err := os.Rename(file, file+".away"); err != nil {
			p.t.Fatal(err)
		}
		if p.counts["patch"]++; !p.found() {
			p.t.Errorf("a patch that is missing is not reported: %s", file)
		}
		if err := os.Rename(file+".away", file); err != nil {
			p.t.Fatal(err)
		}
	}
}
