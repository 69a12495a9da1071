package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// varying is what differs between the reports of the pool, of shards and of a queue: fields, and
// values in texts. Everything else is equal. [shown] are the fields in other formats than JSON.
var varying = []struct {
	field string         // its name; "" for a value in all fields
	value *regexp.Regexp // in texts
	why   string
}{
	{"elapsed_ms", nil, "time"},
	{"started_at", nil, "time"},
	{"finished_at", nil, "time"},
	{"", regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{8}\b`), "ids of runs"},
	{"", regexp.MustCompile(`\b[0-9a-f]{40}\b`), "hashes of commits, which contain times"},
	{"", regexp.MustCompile(`/m\d+/tmp/millhand-[0-9a-f]{8}\b`), "directories of machines"},
}

// TestQueueReportsEqual runs a manifest by the pool, by four shards whose reports are merged, and
// by a queue. The reports are equal, except for the fields above.
func TestQueueReportsEqual(t *testing.T) {
	m := newMachines(t, 2, 3, strings.Replace(queueTask, "{mode: pr}", "{mode: push}", 1))
	m.write("run.yaml", m.read("run.yaml")+`
  - {id: bad, prompt: "Do work j7 in ${{ repo.name }}.", verify: [{run: test -e none}]}
  - {id: after, needs: [bad], prompt: "Do work j8 in ${{ repo.name }}."}
`)
	read := func(dir string) any {
		for i := range m.repos { // for the next one
			for ref := range strings.FieldsSeq(m.git("--git-dir", m.bare(i), "for-each-ref", "--format=%(refname)", "refs/heads/millhand")) {
				m.git("--git-dir", m.bare(i), "update-ref", "-d", ref)
			}
		}
		return m.reportsOf(dir)
	}
	run := func(args ...string) {
		out, err := m.command(0, nil, "millhand", args...).CombinedOutput()
		if code := exitCode(t, err); code > 1 {
			t.Fatalf("millhand %q: exit code %d\n%s", args, code, out)
		}
	}
	run("run", "../run.yaml", "--report-dir", "../pool")
	pool := read("pool")
	merge := []string{"report", "merge", "--report-dir", "../shards"}
	for i := range 4 {
		dir := fmt.Sprintf("../shard%d", i+1)
		run("run", "../run.yaml", "--shard", fmt.Sprintf("%d/4", i+1), "--report-dir", dir)
		merge = append(merge, dir)
	}
	run(merge...)
	if diff := cmp.Diff(pool, read("shards")); diff != "" {
		t.Errorf("pool and shards differ:\n%s", diff)
	}
	id := m.submit()
	m.start(1, nil, "--jobs", "2")
	m.ended(id, 1)
	if diff := cmp.Diff(pool, read("r")); diff != "" {
		t.Errorf("pool and queue differ:\n%s", diff)
	}
	m.leave()
	if len(varying) > 8 {
		t.Errorf("%d fields vary", len(varying))
	}
}

// normal returns a document without what varies.
func normal(doc any) any {
	switch doc := doc.(type) {
	case map[string]any:
		for _, v := range varying {
			delete(doc, v.field)
		}
		for name := range doc {
			doc[name] = normal(doc[name])
		}
	case []any:
		for i := range doc {
			doc[i] = normal(doc[i])
		}
	case string:
		for _, v := range varying {
			if v.value != nil {
				doc = v.value.ReplaceAllString(doc, "VARIES")
			}
		}
		return doc
	}
	return doc
}

func (m *machines) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}
