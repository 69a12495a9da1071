package verification_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/millhand/millhand/internal/dev/nightly"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report/evidence"
)

// attack is one way to change a report directory. It returns what it did; "" for nothing.
type attack func(random *rand.Rand, files fstest.MapFS) string

// detected tries attacks on copies of a run in parallel, and fails for those that nothing detects.
func detected(t *testing.T, r ran, own owner, attacks []attack) {
	t.Helper()
	random, tried := nightly.Random(t), 0
	next := make(chan func(), runtime.NumCPU())
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for do := range next {
				do()
			}
		})
	}
	for _, change := range nightly.Sample(attacks, 11, 0) {
		files := fstest.MapFS{}
		for name, f := range r.files {
			files[name] = &fstest.MapFile{Data: bytes.Clone(f.Data)}
		}
		what := change(random, files)
		if what == "" || same(files, r.files) {
			continue
		}
		tried++
		next <- func() {
			if got := verify(files, own.allowed, r.repo()); len(got.Problems) == 0 {
				t.Errorf("not detected: %s", what)
			} else if p := got.Problems[0]; p.File == "" || p.What == "" {
				t.Errorf("%s: %+v", what, p)
			}
		}
	}
	close(next)
	all.Wait()
	t.Logf("%d changes of %d files with %d bytes", tried, len(r.files), size(r.files))
}

func same(a, b fstest.MapFS) bool {
	return maps.EqualFunc(a, b, func(x, y *fstest.MapFile) bool { return bytes.Equal(x.Data, y.Data) })
}

func size(files fstest.MapFS) (sum int) {
	for _, f := range files {
		sum += len(f.Data)
	}
	return sum
}

func signed(t *testing.T) (ran, owner) {
	t.Helper()
	own, f := newOwner(t, "ann"), honest()
	f.key = own.key
	return record(t, f), own
}

// TestEveryByteCounts changes each byte of a report directory.
func TestEveryByteCounts(t *testing.T) {
	r, own := signed(t)
	var attacks []attack
	step := nightly.Count(101, 1, 1)
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		for at := 0; at < len(r.files[name].Data); at += step {
			attacks = append(attacks, func(random *rand.Rand, files fstest.MapFS) string {
				files[name].Data[at] ^= byte(1 + random.IntN(255))
				return name + " at a byte"
			})
		}
	}
	detected(t, r, own, attacks)
}

// TestRandomEditsAreDetected changes, removes, adds, reorders and exchanges lines, ranges and files. Whoever
// does it knows the checksums, and the hashes of the chain.
func TestRandomEditsAreDetected(t *testing.T) {
	r, own := signed(t)
	kinds := []attack{editRange, editLines, editLines, swapFiles, removeFile, addFile, truncate, editEvent, editEvent, editEvent}
	attacks := make([]attack, nightly.Count(250, 14_000, 140_000))
	for i := range attacks {
		attacks[i] = kinds[i%len(kinds)]
	}
	detected(t, r, own, attacks)
}

func anyFile(random *rand.Rand, files fstest.MapFS) (string, *fstest.MapFile) {
	names := slices.Sorted(maps.Keys(files))
	name := names[random.IntN(len(names))]
	return name, files[name]
}

func editRange(random *rand.Rand, files fstest.MapFS) string {
	name, f := anyFile(random, files)
	from := random.IntN(len(f.Data))
	to := min(len(f.Data), from+random.IntN(20))
	insert := make([]byte, random.IntN(20))
	for i := range insert {
		insert[i] = byte(random.IntN(256))
	}
	f.Data = slices.Concat(f.Data[:from], insert, f.Data[to:])
	return "a range of " + name
}

func truncate(random *rand.Rand, files fstest.MapFS) string {
	name, f := anyFile(random, files)
	f.Data = f.Data[:random.IntN(len(f.Data))]
	return "the end of " + name
}

func swapFiles(random *rand.Rand, files fstest.MapFS) string {
	a, x := anyFile(random, files)
	b, y := anyFile(random, files)
	x.Data, y.Data = y.Data, x.Data
	return a + " and " + b
}

func removeFile(random *rand.Rand, files fstest.MapFS) string {
	name, _ := anyFile(random, files)
	if strings.HasPrefix(name, "outputs/") || name == evidence.EnvelopeFile {
		return "" // as millhand does: keys of security tokens make no envelope, whose Statement and signature are in files that must exist
	}
	delete(files, name)
	return "removed " + name
}

func addFile(random *rand.Rand, files fstest.MapFS) string {
	name := []string{"patches/x.patch", "sessions/x.jsonl", "outputs/x/y", "findings.sarif", "patches/one.patch/x"}[random.IntN(4)]
	files[name] = &fstest.MapFile{Data: []byte("x")}
	return "added " + name
}

// editLines removes, repeats and exchanges lines.
func editLines(random *rand.Rand, files fstest.MapFS) string {
	name, f := anyFile(random, files)
	if random.IntN(2) == 0 {
		name = evidence.EventsFile
		f = files[name]
	}
	lines := bytes.SplitAfter(f.Data, []byte("\n"))
	a, b := random.IntN(len(lines)), random.IntN(len(lines))
	switch random.IntN(4) {
	case 0:
		lines = slices.Delete(lines, a, a+1)
	case 1:
		lines = slices.Insert(lines, b, lines[a])
	case 2:
		lines[a], lines[b] = lines[b], lines[a]
	case 3:
		lines = slices.Concat(lines[:min(a, b)], lines[max(a, b):])
	}
	f.Data = bytes.Join(lines, nil)
	return "lines of " + name
}

// editEvent changes one event, and calculates its checksum and perhaps all hashes after it.
func editEvent(random *rand.Rand, files fstest.MapFS) string {
	f := files[evidence.EventsFile]
	var events []event.Event
	if _, err := event.Read(bytes.NewReader(f.Data), func(e event.Event) error { events = append(events, e); return nil }); err != nil {
		return ""
	}
	at := random.IntN(len(events))
	changed, what := editField(random, events[at])
	events[at] = changed
	again := random.IntN(3) > 0
	if again && random.IntN(3) == 0 { // or another one, or one less
		other := random.IntN(len(events))
		events[at], events[other] = events[other], events[at]
	} else if again && random.IntN(3) == 0 {
		events = slices.Delete(events, at, at+1)
	}
	var out bytes.Buffer
	chain := &event.Chain{}
	for i, e := range events {
		if again {
			e.Seq, e.Prev = int64(i+1), chain.Head()
		}
		line, err := event.Line(e)
		if err != nil {
			return ""
		}
		chain.Add(e, event.LineHash(line))
		out.Write(append(line, '\n'))
	}
	f.Data = out.Bytes()
	return "an event: " + what
}

// editField changes a string or number somewhere in an event.
func editField(random *rand.Rand, e event.Event) (event.Event, string) {
	text, _ := json.Marshal(e) //nolint:errchkjson // of plain data
	at := bytes.IndexAny(text[random.IntN(len(text)/2):], "0123456789abcdef")
	if at >= 0 {
		text[at] ^= 1
	}
	var changed event.Event
	if json.Unmarshal(text, &changed) != nil {
		return e, string(e.Type)
	}
	return changed, string(text)
}
