package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
)

// spent is what the runs of a job have used up together.
type spent struct {
	usage money.Usage
	cost  *money.USD
}

func (s spent) add(j report.Job) spent {
	s.usage = s.usage.Add(j.Usage)
	if s.cost != nil && j.CostUSD != nil {
		s.cost = new(s.cost.Add(*j.CostUSD))
	} else {
		s.cost = nil
	}
	return s
}

// edited is a stream with lines left out, doubled and exchanged, as the bytes
// of the script say: two for each edit.
func edited(stream, script []byte) []byte {
	lines := slices.Collect(bytes.Lines(stream))
	for ; len(script) > 1 && len(lines) > 1; script = script[2:] {
		at := 1 + int(script[1])%(len(lines)-1)
		switch script[0] % 4 {
		case 0:
			lines = slices.Delete(lines, at, at+1)
		case 1:
			lines = slices.Insert(lines, at, lines[at])
		case 2:
			other := 1 + int(script[0]/4)%(len(lines)-1)
			lines[at], lines[other] = lines[other], lines[at]
		default:
			lines = append(lines[:at:at], lines...)
		}
		lines = lines[:min(len(lines), 300)]
	}
	return bytes.Join(lines, nil)
}

// mergeable are pairs of streams that can be one run.
func mergeable(tb testing.TB) [][2][]byte {
	tb.Helper()
	all := reporttest.Streams(tb, "testdata")
	failed, passed := done(tb, "x", 1, event.Failed, 1, 0.5), done(tb, "y", 2, event.Passed, 0, 0.25)
	twice := one(tb, "z", 2, reporttest.Started("a"), reporttest.TurnEnded("s", 1, reporttest.Costs(0.5)), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed, Turns: 1}), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}))
	return [][2][]byte{
		{bulkRun(tb, "s1", 1, 1, 2), bulkRun(tb, "s2", 2, 2, 2)},
		{bulkRun(tb, "s1", 1, 1, 3), bulkRun(tb, "again", 2, 1, 3)},
		{bulkRun(tb, "w", 1, 0, 0), bulkRun(tb, "again", 2, 1, 3)},
		{all["merged"], bulkRun(tb, "s3", 9, 3, 3)},
		{failed.stream, passed.stream},
		{failed.stream, superseded(tb, "y", 2, event.Skipped, 0).stream},
		{twice.stream, passed.stream},
		{all["killed"], all["matrix"]},
		{all["hostile"], all["hostile"]},
	}
}

// FuzzMerge holds that whatever streams are merged, the outcome is refused or
// is a run whose stream folds to its report, and that nothing spent is lost.
func FuzzMerge(f *testing.F) {
	for i, pair := range mergeable(f) {
		f.Add(pair[0], pair[1], []byte{byte(i), 7, 3, 1})
	}
	f.Add([]byte(`{"type":"run.started","run":{"id":"r","jobs":[{"id":""}]}}`+"\n"+`{"type":"warning","warning":{"message":"w"}}`+"\n"), reporttest.Streams(f, "testdata")["empty"], []byte{})
	f.Add([]byte(`{"type":"run.started","time":"9999-12-31T23:59:59-23:59","run":{"id":"r","elsewhere":[{"id":"a"}]}}`+"\n"), reporttest.Streams(f, "testdata")["empty"], []byte{})
	schema := compileSchema(f)
	f.Fuzz(func(t *testing.T, first, second, script []byte) {
		checkMerge(t, schema, edited(first, script), edited(second, script))
	})
}

func TestEditedStreamsMergeWell(t *testing.T) {
	schema := compileSchema(t)
	random, rounds := rand.New(rand.NewPCG(1, 2)), nightly.Count(5, 50, 500)
	if testing.Short() {
		rounds = 2
	}
	for i, pair := range mergeable(t) {
		for n := range rounds {
			var script [2][]byte
			for k := range script {
				for range 2 * random.IntN(8) {
					script[k] = append(script[k], byte(random.IntN(256)))
				}
			}
			checkMerge(t, schema, edited(pair[0], script[0]), edited(pair[1], script[1]))
			if t.Failed() {
				t.Fatalf("pair %d, round %d", i, n)
			}
		}
	}
}

func checkMerge(t *testing.T, schema *jsonschema.Schema, first, second []byte) {
	t.Helper()
	runs := []saved{{"first", first}, {"second", second}}
	var refused *report.RefusedError
	var b bytes.Buffer
	if _, err := report.Merge(&b, inputsOf(runs...), event.FailOnAny); errors.As(err, &refused) {
		if b.Len() > 0 {
			t.Errorf("refused, and yet written: %s", b.Bytes())
		}
		return
	}
	merged, stream := merge(t, runs...)
	validJSON(t, schema, reporttest.Render(t, report.JSON, merged.Report))
	again, _ := merge(t, saved{"merged", stream})
	if diff := cmp.Diff(jobsOf(t, merged.Report), jobsOf(t, again.Report)); diff != "" || again.Exit != merged.Exit {
		t.Errorf("merged once more: exit code %d, was %d (-want +got):\n%s", again.Exit, merged.Exit, diff)
	}
	once := "first and second are the same run " + reporttest.Load(t, first).Run.ID + ", which is counted once"
	if !slices.ContainsFunc(merged.Report.Warnings, func(w report.Warning) bool { return w.Message == once }) {
		checkNothingLost(t, merged.Report, reporttest.Load(t, first), reporttest.Load(t, second))
	}
}

// jobsOf is the part of report.json that has the jobs.
func jobsOf(tb testing.TB, r *report.Report) string {
	tb.Helper()
	text, err := json.Marshal(r.Jobs)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func checkNothingLost(t *testing.T, merged *report.Report, inputs ...*report.Report) {
	t.Helper()
	want := map[string]spent{}
	for _, r := range inputs {
		for _, j := range r.Jobs {
			sum, ok := want[j.ID]
			if !ok {
				sum.cost = reporttest.Costs(0.0)
			}
			want[j.ID] = sum.add(j)
		}
	}
	for _, j := range merged.Jobs {
		sum, ok := want[j.ID]
		if !ok {
			sum.cost = reporttest.Costs(0.0) // of a shard that is missing
		}
		if j.Usage != sum.usage || !cmp.Equal(sum.cost, j.CostUSD) {
			t.Errorf("%s has spent %+v, want %+v", j.ID, spent{j.Usage, j.CostUSD}, sum)
		}
		delete(want, j.ID)
	}
	if len(want) > 0 {
		t.Errorf("jobs that were lost: %v", want)
	}
}
