package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/text/redact"
)

// printedBench returns the output of a command, whose file is below a directory.
func printedBench(t *testing.T) (p *printed, dir string) {
	t.Helper()
	dir = t.TempDir()
	reports, err := files.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reports.Close() })
	return newPrinted(&outputFile{dir: reports, redact: redact.New([]string{"secret-4711-4711"})}), dir
}

// savedIn returns the only file in a directory; "" without one.
func savedIn(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, outputPattern))
	if err != nil || len(paths) > 1 {
		t.Fatalf("files %q, error %v", paths, err)
	}
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

func TestOutputLongerThanItsFile(t *testing.T) {
	p, dir := printedBench(t)
	block := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000)) // 1 MB
	p.Write([]byte("first line\n"))
	written := len("first line\n")
	for written <= savedBytes+2*len(block) {
		if n, err := p.Write(block); n != len(block) || err != nil {
			t.Fatal(n, err)
		}
		written += len(block)
	}
	p.Write([]byte("last line, secret-4711-4711\n"))
	var v Ran
	p.into(&v, p.file.redact)
	data, err := os.ReadFile(filepath.Join(dir, v.OutputPath))
	if err != nil || v.OutputPath == "" {
		t.Fatalf("file %q: %v", v.OutputPath, err)
	}
	if len(data) > savedBytes+tailBytes+1000 || len(data) < savedBytes-len(block) {
		t.Errorf("the file has %d bytes", len(data))
	}
	if !bytes.HasPrefix(data, []byte("first line\n")) || !bytes.HasSuffix(data, []byte("last line, [redacted]\n")) || !bytes.Contains(data, []byte("... (the middle of ")) {
		t.Errorf("the file is %.60q...%q", data, data[len(data)-60:])
	}
	if !strings.HasSuffix(strings.TrimSpace(v.Output), "last line, [redacted]") {
		t.Errorf("tail %q", v.Output)
	}
}

// A full disk costs the file, not the command and its excerpt.
func TestOutputOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("a device that is always full is missing")
	}
	p, dir := printedBench(t)
	line := strings.Repeat("y", 99) + "\n"
	p.Write([]byte(strings.Repeat(line, ExcerptBytes/len(line)+1)))
	if savedIn(t, dir) == "" {
		t.Fatal("the output has no file")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.file.file.Close()
	p.file.file, p.file.clean = full, p.file.redact.Writer(full)
	for range 1000 {
		if n, err := p.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	p.note("the command timed out\n")
	var v Ran
	p.into(&v, p.file.redact)
	if v.OutputPath != "" || savedIn(t, dir) != "" {
		t.Errorf("file %q, %q", v.OutputPath, savedIn(t, dir))
	}
	if !strings.Contains(v.Tail, "the command timed out") || !strings.Contains(v.Output, "the command timed out") {
		t.Errorf("excerpt %q", v.Tail)
	}
}

// A file that can't be created is omitted, and a passed command leaves no file.
func TestOutputWithoutAFile(t *testing.T) {
	for name, passed := range map[string]bool{"can't be created": false, "passed": true} {
		p, dir := printedBench(t)
		var v Ran
		if v.Passed = passed; !passed {
			os.Remove(dir)
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text := strings.Repeat("z", 10*ExcerptBytes) + "\nend\n"
		if n, err := p.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("%s: %d, %v", name, n, err)
		}
		p.into(&v, p.file.redact)
		if v.OutputPath != "" || savedIn(t, dir) != "" || !strings.Contains(v.Tail, "end") {
			t.Errorf("%s: file %q, %q, excerpt %q", name, v.OutputPath, savedIn(t, dir), v.Tail)
		}
	}
}
