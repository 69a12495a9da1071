package scripts

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millhand/millhand/internal/testing/githubapptest"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// remote makes bare repositories with one commit on main.
func remote(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: remote NAME...")
	}
	for _, name := range args {
		dir := ts.MkAbs(name + ".git")
		from := ts.MkAbs(".from-" + name)
		ts.Check(os.MkdirAll(from, 0o755))
		ts.Check(os.WriteFile(filepath.Join(from, "README.md"), []byte("# "+name+"\n"), 0o644))
		for _, git := range [][]string{
			{"init", "-q", "-b", "main", from},
			{"-C", from, "add", "-A"},
			{"-C", from, "commit", "-q", "-m", "start"},
			{"clone", "-q", "--bare", from, dir},
			{"-C", dir, "config", "http.receivepack", "true"},
		} {
			ts.Check(ts.Exec("git", git...))
		}
		ts.Check(os.RemoveAll(from))
	}
}

// forget deletes the branches that runs have pushed.
func forget(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		dir := ts.MkAbs(name + ".git")
		out, err := exec.Command("git", "-C", dir, "for-each-ref", "--format=%(refname)", "refs/heads/millhand").Output()
		ts.Check(err)
		if len(out) == 0 || neg {
			ts.Fatalf("%s has no branch of millhand's", dir)
		}
		for ref := range strings.FieldsSeq(string(out)) {
			ts.Check(ts.Exec("git", "-C", dir, "update-ref", "-d", ref))
		}
	}
}

// gitHTTP serves repositories by git's own program, to who has the token, or to
// everybody if it is "-". With @FILE, the token is the last line of the file, and expires
// after a fetch. The log names each request, and whether it carried credentials.
func gitHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: git-http DIR TOKEN|@FILE [LOG]")
	}
	log := io.Discard
	if len(args) == 3 {
		f, err := os.Create(ts.MkAbs(args[2]))
		ts.Check(err)
		ts.Defer(func() { _ = f.Close() })
		log = f
	}
	backend, disturbance := gitBackend(ts, args[0]), ts.Value(disturbedKey{}).(*disturbed)
	accepts := func(token string) bool { return args[1] == "-" || token == args[1] }
	tokens, changes := strings.CutPrefix(args[1], "@")
	tokens = ts.MkAbs(tokens)
	if changes {
		accepts = func(token string) bool { return isLast(tokens, token) }
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		with := "without"
		if r.Header.Get("Authorization") != "" {
			with = "with"
		}
		fmt.Fprintf(log, "%s %s %s credentials\n", r.Method, r.URL.Path, with) // one write a line
		if _, token, _ := r.BasicAuth(); !accepts(token) {
			unauthorized(w)
			return
		}
		fetched := changes && fetches(r)
		disturbance.serve(w, r, backend)
		if fetched {
			appendLine(tokens, "expired")
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("GIT_SERVER", server.URL)
	ts.Setenv("GIT_HOST", strings.TrimPrefix(server.URL, "http://"))
}

// isLast reports whether a token is the last line of a file, which is missing before the first one.
func isLast(file, token string) bool {
	text, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return token != "" && token == lines[len(lines)-1]
}

// gitBackend serves the repositories below a directory.
func gitBackend(ts *testscript.TestScript, dir string) http.Handler {
	backend, err := gittest.HTTP(context.Background(), ts.MkAbs(dir), nil, "REMOTE_USER=tess", "GIT_CONFIG_NOSYSTEM=1")
	ts.Check(err)
	return backend
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
	http.Error(w, "who are you?", http.StatusUnauthorized)
}

// fetches reports whether a request, which is not read yet, fetches objects, unlike one for the references.
func fetches(r *http.Request) bool {
	const list = "0014command=ls-refs\n"
	body := bufio.NewReader(r.Body)
	head, _ := body.Peek(len(list))
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	return strings.HasSuffix(r.URL.Path, "/git-upload-pack") && r.ContentLength > int64(len("0000")) && string(head) != list
}

// githubApp serves repositories at OWNER/NAME to installations of a GitHub App, whose tokens
// expire after a fetch, and writes the app's key to app.pem. The log has each git request
// with its token. With MINUTES it also serves the forge's API, a token expires after an hour, and each
// request lasts so long on the script's clock.
func githubApp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: github-app DIR LOG [MINUTES]")
	}
	log, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Defer(func() { _ = log.Close() })
	backend, clock := gitBackend(ts, args[0]), ts.MkAbs("clock")
	var server *githubapptest.Server
	serve := func(w http.ResponseWriter, r *http.Request) {
		owner, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		user, token, _ := r.BasicAuth()
		fmt.Fprintf(log, "%s %s %s:%s\n", r.Method, r.URL.Path, user, token)
		if !server.Accepts(owner, token) {
			unauthorized(w)
			return
		}
		fetched := fetches(r)
		backend.ServeHTTP(w, r)
		if fetched {
			server.Expire(owner)
		}
	}
	if len(args) == 3 {
		minutes, err := strconv.Atoi(args[2])
		ts.Check(err)
		ts.Setenv(clockVariable, clock)
		forge := forgeOf(ts)
		accepts := func(token string) bool { return server.Owner(token) != "" }
		forge.Tokens.Bot, forge.Tokens.Accepts = "millhand[bot]", accepts
		populate(ts, forge, "github", args[0], accepts)
		serve = func(w http.ResponseWriter, r *http.Request) {
			pass(clock, time.Duration(minutes)*time.Minute)
			_, token, isGit := r.BasicAuth()
			if !isGit {
				_, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
			}
			fmt.Fprintf(log, "%s %s %t\n", r.Method, r.URL.Path, accepts(token))
			forge.ServeHTTP(w, r)
		}
	}
	server, err = githubapptest.New(clockOf(clock), http.HandlerFunc(serve))
	ts.Check(err)
	ts.Defer(server.Close)
	ts.Check(os.WriteFile(ts.MkAbs("app.pem"), []byte(server.Key()), 0o600))
	ts.Setenv("GIT_HOST", server.Host())
}

// appendLine appends a line to a file; a failure shows as its absence.
func appendLine(name, line string) {
	if f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(f, line)
		f.Close()
	}
}

// jobFields prints some fields of each job of a report, a line a job.
func jobFields(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jobs DIR FIELD...")
	}
	fmt.Fprint(ts.Stdout(), jobLines(ts, args[0], args[1:]...))
}

// jobLines returns the fields of each job of a report, a line a job.
func jobLines(ts *testscript.TestScript, dir string, names ...string) string {
	var doc struct {
		Jobs []map[string]any `json:"jobs"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(dir, "report.json"))), &doc))
	var lines strings.Builder
	for _, j := range doc.Jobs {
		var values []string
		for _, name := range names {
			values = append(values, field(j, name))
		}
		fmt.Fprintln(&lines, strings.Join(values, " "))
	}
	return lines.String()
}

func field(doc map[string]any, name string) string {
	first, rest, nested := strings.Cut(name, ".")
	v, ok := doc[first]
	sub, isMap := v.(map[string]any)
	switch {
	case !ok:
		return "absent"
	case v == nil:
		return "null"
	case nested && isMap:
		return field(sub, rest)
	}
	return fmt.Sprint(v)
}

// sameRuns compares two runs' report.json and junit.xml except for times, the ids
// of runs, and what contains these (commits, their messages, paths of outputs).
func sameRuns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-runs DIR DIR")
	}
	var runs []any
	for _, dir := range args {
		var doc map[string]any
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(dir, "report.json"))), &doc))
		id := doc["run"].(map[string]any)["id"].(string)
		delete(doc["run"].(map[string]any), "id")
		runs = append(runs, withoutTimes(doc, id))
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" {
		ts.Fatalf("the reports differ:\n%s", diff)
	}
}

func withoutTimes(v any, run string) any {
	times := []string{"started_at", "finished_at", "elapsed_ms", "hash", "replaced", "message", "session", "remote", "parent", "child_session", "max_cost_usd"}
	switch v := v.(type) {
	case map[string]any:
		for key, sub := range v {
			if _, has := v["turns"]; key == "id" && has && v["agent"] != nil || slices.Contains(times, key) {
				delete(v, key) // of a session, whose id has the run's in it
				continue
			}
			v[key] = withoutTimes(sub, run)
		}
	case []any:
		for i := range v {
			v[i] = withoutTimes(v[i], run)
		}
	case string:
		return strings.ReplaceAll(v, run, "RUN")
	}
	return v
}

// modules makes a bare repository of the source of each published Go module
// that is named, and writes repos.txt with their addresses. The modules are
// ones that millhand is built of, so that their source is there.
func modules(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: modules MODULE...")
	}
	var list strings.Builder
	for _, module := range args {
		find := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
		find.Dir = ts.Getenv("ROOT")
		out, err := find.Output()
		ts.Check(err)
		name := strings.NewReplacer("/", "-", ".", "-").Replace(module)
		from, dir := ts.MkAbs(".from-"+name), ts.MkAbs(name+".git")
		ts.Check(os.CopyFS(from, os.DirFS(strings.TrimSpace(string(out)))))
		ts.Check(ts.Exec("chmod", "-R", "u+w", from)) // the module cache is read-only
		for _, git := range [][]string{
			{"init", "-q", "-b", "main", from},
			{"-C", from, "add", "-A", "-f"},
			{"-C", from, "commit", "-q", "-m", "published"},
			{"clone", "-q", "--bare", from, dir},
		} {
			ts.Check(ts.Exec("git", git...))
		}
		fmt.Fprintf(&list, "file://%s\n", dir)
	}
	ts.Check(os.WriteFile(ts.MkAbs("repos.txt"), []byte(list.String()), 0o644))
}

// pushed holds every repository of repos.txt to having one new commit, with
// its trailers, on a branch for each of the tasks, and to being whole; and
// report.json and junit.xml of a run to name the jobs that made them.
func pushed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: pushed DIR TASK...")
	}
	git := func(dir string, args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		ts.Check(err)
		return strings.TrimSpace(string(out))
	}
	reports := ts.ReadFile(filepath.Join(args[0], "report.json"))
	junit := ts.ReadFile(filepath.Join(args[0], "junit.xml"))
	for url := range strings.FieldsSeq(ts.ReadFile("repos.txt")) {
		dir := strings.TrimPrefix(url, "file://")
		git(dir, "fsck", "--strict", "--no-dangling")
		refs := git(dir, "for-each-ref", "--format=%(refname:short)", "refs/heads/millhand")
		if n := len(strings.Fields(refs)); n != len(args)-1 {
			ts.Fatalf("%s has %d branches of millhand's, want %d: %s", dir, n, len(args)-1, refs)
		}
		for _, task := range args[1:] {
			branch := "millhand/" + task
			if n := git(dir, "rev-list", "--count", "main.."+branch); n != "1" {
				ts.Fatalf("%s: %s has %s new commits, want 1", dir, branch, n)
			}
			hash := git(dir, "rev-parse", branch)
			message := git(dir, "log", "-1", "--format=%(trailers:only,unfold)", branch)
			job := task + "-" + strings.TrimSuffix(filepath.Base(dir), ".git")
			for _, trailer := range []string{"Millhand-Run: ", "Millhand-Job: " + job, "Millhand-Task: "} {
				if !strings.Contains(message, trailer) {
					ts.Fatalf("%s: the commit of %s has no trailer %q:\n%s", dir, branch, trailer, message)
				}
			}
			if !strings.Contains(reports, `"`+hash+`"`) || !strings.Contains(junit, `name="`+job+`"`) {
				ts.Fatalf("the reports do not name job %s with commit %s", job, hash)
			}
		}
	}
}
