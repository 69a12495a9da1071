package gocache_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/sandbox/gocache"
)

// TestMain serves a cache if a go command started this program, as in the sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == gocache.Name {
		if err := gocache.Serve(os.Stdin, os.Stdout, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// goRun runs a go command with a cache.
func goRun(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(env, "GOFLAGS=", "GOWORK=off")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// files returns the sizes of the files of a directory.
func files(t *testing.T, dir string) (all map[string]string, bytes int64) {
	t.Helper()
	all = map[string]string{}
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			all[name] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, bytes
}

// TestWarmCacheIsOnlyRead builds a program with a warm cache of the user: the user's cache
// is not changed at all, and the private one gets at most 5 % of its bytes. It imports a large package
// that needs no other, not even Go's runtime, which would take a quarter of a minute to compile.
func TestWarmCacheIsOnlyRead(t *testing.T) {
	if testing.Short() {
		t.Skip("long test: it compiles packages")
	}
	dir, lower, own := t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.24\n", "m.go": "package m\n\nimport \"unicode\"\n\nvar Upper = unicode.IsUpper('a')\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goRun(t, dir, []string{"GOCACHE=" + lower}, "build", ".")
	before, size := files(t, lower)
	variable, ok := gocache.Variable(os.Args[0], lower, own)
	if !ok {
		t.Fatal("a path can't be quoted")
	}
	goRun(t, dir, []string{"GOCACHE=" + own, variable}, "build", ".")
	if after, _ := files(t, lower); !maps.Equal(before, after) {
		t.Error("the user's cache was changed")
	}
	_, written := files(t, own)
	if written*20 > size {
		t.Errorf("%d bytes were written, more than 5 %% of %d", written, size)
	}
	t.Logf("%d bytes of %d were written", written, size)
	// A change is compiled once for the job.
	if err := os.WriteFile(filepath.Join(dir, "m.go"), []byte("package m\n\nimport \"unicode\"\n\nvar Upper = unicode.IsUpper('b')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	goRun(t, dir, []string{"GOCACHE=" + own, variable}, "build", ".")
	first, _ := files(t, own)
	goRun(t, dir, []string{"GOCACHE=" + own, variable}, "build", ".")
	if second, _ := files(t, own); !maps.Equal(first, second) {
		t.Error("an unchanged package was compiled again")
	}
}

// client is a go command.
type client struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Reader
	id  int64
}

type response struct {
	ID       int64
	Err      string
	Miss     bool
	OutputID []byte
	Size     int64
	DiskPath string
}

func serve(t *testing.T, lower, own string) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { outW.CloseWithError(gocache.Serve(inR, outW, lower, own)) }()
	c := &client{t: t, in: inW, out: bufio.NewReader(outR)}
	if line, err := c.out.ReadString('\n'); err != nil || line != `{"ID":0,"KnownCommands":["get","put","close"]}`+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	t.Cleanup(func() { inW.Close() })
	return c
}

func (c *client) send(command string, action, output, body []byte) (res response) {
	c.t.Helper()
	c.id++
	req, err := json.Marshal(map[string]any{"ID": c.id, "Command": command, "ActionID": action, "OutputID": output, "BodySize": len(body)})
	if err != nil {
		c.t.Fatal(err)
	}
	req = append(req, "\n\n"...)
	if len(body) > 0 {
		req = append(req, `"`+base64.StdEncoding.EncodeToString(body)+"\"\n"...)
	}
	if _, err := c.in.Write(req); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &res)
	}
	if err != nil || res.ID != c.id {
		c.t.Fatalf("%s: %s, %v", command, line, err)
	}
	return res
}

func id(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func TestPutAndGet(t *testing.T) {
	lower, own := t.TempDir(), t.TempDir()
	c := serve(t, lower, own)
	if res := c.send("get", id("a"), nil, nil); !res.Miss {
		t.Errorf("%+v", res)
	}
	for _, size := range []int{0, 1, 2, 3, 100_000, 1 << 20} {
		body := bytes.Repeat([]byte{'x'}, size)
		action, output := id(fmt.Sprint(size)), id(string(body))
		put := c.send("put", action, output, body)
		if text, err := os.ReadFile(put.DiskPath); err != nil || !bytes.Equal(text, body) || !strings.HasPrefix(put.DiskPath, own) {
			t.Errorf("%d: %+v, %v", size, put, err)
		}
		if got := c.send("get", action, nil, nil); got.DiskPath != put.DiskPath || got.Size != int64(size) || !bytes.Equal(got.OutputID, output) {
			t.Errorf("%d: %+v", size, got)
		}
	}
	if res := c.send("put", []byte("short"), id("x"), []byte("x")); res.Err == "" {
		t.Error("an invalid ID was accepted")
	}
	if res := c.send("other", nil, nil, nil); res.Err == "" {
		t.Error("an unknown command was accepted")
	}
	if res := c.send("close", nil, nil, nil); res.Err != "" {
		t.Error(res.Err)
	}
	if _, err := c.out.ReadByte(); err != io.EOF {
		t.Errorf("after close: %v", err)
	}
}

// TestDamagedEntriesAreMisses: entries that were changed, cut or lost are no hits.
func TestDamagedEntriesAreMisses(t *testing.T) {
	lower := t.TempDir()
	fill := serve(t, t.TempDir(), lower)
	action := id("action")
	data := fill.send("put", action, id("body"), []byte("body")).DiskPath
	entry, err := filepath.Glob(filepath.Join(lower, "*", "*-a"))
	if err != nil || len(entry) != 1 {
		t.Fatal(entry, err)
	}
	good, err := os.ReadFile(entry[0])
	if err != nil {
		t.Fatal(err)
	}
	c := serve(t, lower, t.TempDir())
	if res := c.send("get", action, nil, nil); res.DiskPath != data {
		t.Fatalf("%+v", res)
	}
	text := string(good)
	bad := []string{
		"", text[:len(text)-1], text + "\n", strings.Replace(text, "v1", "v2", 1), strings.Repeat("x", len(text)),
		strings.Replace(text, fmt.Sprintf("%x", action), fmt.Sprintf("%x", id("other")), 1), strings.Replace(text, fmt.Sprintf("%20d", 4), fmt.Sprintf("%20d", 5), 1),
		strings.Replace(text, fmt.Sprintf("%20d", 4), fmt.Sprintf("%20d", -4), 1), strings.Replace(text, fmt.Sprintf("%x", id("body")), "../"+fmt.Sprintf("%x", id("body"))[3:], 1),
	}
	for _, text := range bad {
		if err := os.WriteFile(entry[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if res := c.send("get", action, nil, nil); !res.Miss {
			t.Errorf("%q: %+v", text, res)
		}
	}
	if err := os.WriteFile(entry[0], good, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, how := range []func() error{
		func() error { return os.Truncate(data, 3) },
		func() error { return os.Remove(data) },
		func() error { return os.Symlink("/etc/hostname", data) },
	} {
		if err := how(); err != nil {
			t.Fatal(err)
		}
		if res := c.send("get", action, nil, nil); !res.Miss {
			t.Errorf("damaged output: %+v", res)
		}
	}
}

func TestPathsWithOneKindOfQuotesAreQuoted(t *testing.T) {
	got, ok := gocache.Variable("/a b/millhand", `/c"d`, "/e'f")
	if want := `GOCACHEPROG="/a b/millhand" "millhand-gocache" '/c"d' "/e'f"`; got != want || !ok {
		t.Errorf("%s, %v", got, ok)
	}
	if _, ok := gocache.Variable("/m", `/c"d'e`, "/f"); ok {
		t.Error("both quotes in a path")
	}
}

func FuzzServe(f *testing.F) {
	f.Add([]byte("{\"ID\":1,\"Command\":\"get\",\"ActionID\":\"AAAA\"}\n"))
	f.Add([]byte("{\"ID\":1,\"Command\":\"put\",\"BodySize\":3}\n\n\"YWJj\"\n{\"ID\":2,\"Command\":\"close\"}\n"))
	f.Add([]byte("{\"ID\":1,\"Command\":\"put\",\"BodySize\":9223372036854775807}\n\"YWJj\"\n"))
	dir := f.TempDir()
	f.Fuzz(func(_ *testing.T, text []byte) {
		gocache.Serve(bytes.NewReader(text), io.Discard, dir, dir)
	})
}
