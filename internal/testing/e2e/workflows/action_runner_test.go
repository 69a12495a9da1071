package workflows

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// metadata is action.yml as the runner reads it.
type metadata struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	ID, If, Uses, Shell, Run string
	With, Env                map[string]string
}

// readMetadata reads the action.yml of a directory of the repository, "" for its root.
func readMetadata(t *testing.T, dir string) metadata {
	t.Helper()
	var m metadata
	dec := yaml.NewDecoder(strings.NewReader(read(t, filepath.Join(scripts.Root(t), dir, "action.yml"))))
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// releasedVersion is the version that the tests' server has.
const releasedVersion = "1.2.3"

// workflow is a job of a workflow that uses the action, and the runner that it
// is on: a workspace, the files that steps speak to the runner by, and a server
// with a release, whose binary is the test's own.
type workflow struct {
	workspace string
	temp      string
	with      map[string]string // inputs of the step
	env       map[string]string
	action    string // directory of the action, "" for the root of the repository
	ref       string // that the action is used at
	source    string // hash of the source, if an earlier step has built it
	event     string // payload of the event
	server    *httptest.Server
}

// newWorkflow makes a workspace of files, as a txtar of them by name.
func newWorkflow(t *testing.T, files map[string]string) *workflow {
	t.Helper()
	w := &workflow{
		workspace: t.TempDir(), temp: t.TempDir(), with: map[string]string{"version": releasedVersion, "sandbox": "off"}, env: map[string]string{},
		event: `{"inputs": {"title": "$(touch pwned) ::error::x", "body": "x\nEOF\n"}}`,
	}
	for name, content := range files {
		name = filepath.Join(w.workspace, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, git := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start", "--allow-empty"},
	} {
		cmd := exec.Command("git", git...)
		cmd.Dir = w.workspace
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	w.serve(t, release(t))
	return w
}

// release is what a release has, by name: an archive with a program that is
// this test's own binary under the name millhand, and its checksum.
func release(t *testing.T) map[string][]byte {
	t.Helper()
	millhand, err := exec.LookPath("millhand") // put on the path by TestMain
	if err != nil {
		t.Fatal(err)
	}
	return releaseOf(t, "millhand", fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", millhand))
}

// releaseOf makes a release whose archive has one file.
func releaseOf(t *testing.T, file, program string) map[string][]byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	err := errors.Join(
		archive.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(program))}),
		func() error { _, err := archive.Write([]byte(program)); return err }(),
		archive.Close(), zip.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	name := archiveName()
	sums := fmt.Sprintf("%064d  millhand_%s_other_cpu.tar.gz\n%x  %s\n", 0, releasedVersion, sha256.Sum256(b.Bytes()), name)
	return map[string][]byte{name: b.Bytes(), "checksums.txt": []byte(sums)}
}

func archiveName() string {
	return fmt.Sprintf("millhand_%s_%s_%s.tar.gz", releasedVersion, runtime.GOOS, runtime.GOARCH)
}

// serve puts files on the server of releases.
func (w *workflow) serve(t *testing.T, files map[string][]byte) {
	t.Helper()
	w.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/millhand/millhand/releases/download/v"+releasedVersion+"/")
		if data := files[name]; ok && data != nil {
			out.Write(data)
			return
		}
		http.NotFound(out, r)
	}))
	t.Cleanup(w.server.Close)
	t.Cleanup(w.server.CloseClientConnections) // before: Close waits for them
}

// result is what a step left to its runner.
type result struct {
	code                  int
	log, summary, written string // written: the file of outputs
	outputs               map[string]string
}

// value is what an expression of action.yml stands for.
func (w *workflow) value(t *testing.T, m metadata, text string) string {
	t.Helper()
	return regexp.MustCompile(`\$\{\{ *([a-z_.-]+) *\}\}`).ReplaceAllStringFunc(text, func(x string) string {
		name := strings.Trim(x, "${} ")
		input, isInput := strings.CutPrefix(name, "inputs.")
		switch {
		case isInput:
			if v, ok := w.with[input]; ok {
				return v
			}
			return m.Inputs[input].Default
		case name == "github.action_ref":
			return w.ref
		case name == "github.action_repository":
			return ""
		case name == "steps.source.outputs.hash":
			return w.source
		}
		t.Fatalf("the tests' runner does not know %s", x)
		return ""
	})
}

// command is the action's last step as the runner would start it.
func (w *workflow) command(t *testing.T) *exec.Cmd {
	t.Helper()
	return w.step(t, "run")
}

// step is a step of the action as the runner would start it.
func (w *workflow) step(t *testing.T, id string) *exec.Cmd {
	t.Helper()
	m := readMetadata(t, w.action)
	at := slices.IndexFunc(m.Runs.Steps, func(s actionStep) bool { return s.ID == id })
	if at < 0 {
		t.Fatalf("action.yml has no step %s", id)
	}
	return w.stepOf(t, m, m.Runs.Steps[at])
}

func (w *workflow) stepOf(t *testing.T, m metadata, step actionStep) *exec.Cmd {
	t.Helper()
	file := filepath.Join(w.temp, "step.sh")
	if err := os.WriteFile(file, []byte(step.Run+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	event := filepath.Join(w.temp, "event.json")
	if err := os.WriteFile(event, []byte(w.event), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"), "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": filepath.Join(scripts.Root(t), w.action),
		"GITHUB_WORKSPACE": w.workspace, "GITHUB_EVENT_PATH": event, "GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_SERVER_URL": w.server.URL,
		"RUNNER_TEMP": w.temp, "MILLHAND_CACHE_DIR": filepath.Join(w.temp, "cache"),
	}
	for _, name := range []string{"OUTPUT", "STEP_SUMMARY", "ENV", "PATH", "STATE"} {
		file := filepath.Join(w.temp, "file_command_"+name)
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		env["GITHUB_"+name] = file
	}
	maps.Copy(env, w.env)
	for name, value := range step.Env {
		env[name] = w.value(t, m, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*scripts.Patience) // the script must not hang, nor must its test
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file)
	cmd.Dir = w.workspace
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// run runs the step to its end.
func (w *workflow) run(t *testing.T) result {
	t.Helper()
	return w.finish(t, w.command(t), func(*os.Process) {})
}

// finish runs a command, doing something to it meanwhile, and gathers what it
// left.
func (w *workflow) finish(t *testing.T, cmd *exec.Cmd, meanwhile func(*os.Process)) result {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = scripts.Patience // for children that outlive it and hold the log open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	meanwhile(cmd.Process)
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{code: cmd.ProcessState.ExitCode(), log: log.String()}
	r.summary = read(t, filepath.Join(w.temp, "file_command_STEP_SUMMARY"))
	r.written = read(t, filepath.Join(w.temp, "file_command_OUTPUT"))
	r.outputs = stepOutputs(t, r.written)
	for _, name := range []string{"ENV", "PATH", "STATE"} {
		if text := read(t, filepath.Join(w.temp, "file_command_"+name)); text != "" {
			t.Errorf("GITHUB_%s was written to: %q", name, text)
		}
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "pwned")); err == nil {
		t.Error("a text was run as a command")
	}
	if t.Failed() {
		t.Log(r.log)
	}
	return r
}

// stepOutputs reads the file of a step's outputs by the rules of the runner.
func stepOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	values := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		switch {
		case line == "":
		case equals >= 0 && (heredoc < 0 || equals < heredoc):
			values[line[:equals]] = line[equals+1:]
		case heredoc > 0 && line[heredoc+2:] != "":
			n := slices.Index(lines[i+1:], line[heredoc+2:])
			if n < 0 {
				t.Fatalf("no end of %q", line)
			}
			values[line[:heredoc]] = strings.Join(lines[i+1:i+1+n], "\n")
			i += n + 1
		default:
			t.Fatalf("%q begins no output", line)
		}
	}
	return values
}

// commandsIn returns the names of the workflow commands that a log holds, with
// the properties of annotations.
func commandsIn(log string) []string {
	var names []string
	for line := range strings.FieldsFuncSeq(log, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "::") {
			name, _, _ := strings.Cut(line[2:], "::")
			names = append(names, name)
		}
		if strings.Contains(line, "##[") {
			names = append(names, line)
		}
	}
	return names
}
