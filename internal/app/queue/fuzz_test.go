package queue

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func FuzzRun(f *testing.F) {
	f.Add("r1", []byte(`{"id":"r1","lease":60000000000,"max_deliveries":3,"dir":"/a","manifests":["m.yaml"],"jobs":[{"id":"a","key":"k"},{"id":"b","key":"l","needs":["k"]}],"files":[{"path":"/a/m.yaml","sha256":""}]}`))
	f.Add("..", []byte(`{"id":".."}`))
	f.Fuzz(func(t *testing.T, id string, text []byte) {
		r, err := parseRun(id, text)
		if err != nil {
			return
		}
		names := []string{r.ID}
		for _, j := range r.Jobs {
			names = append(names, j.Key)
			r.class(j)
		}
		for _, name := range names {
			if filepath.Dir(filepath.Join("/d", name)) != "/d" {
				t.Errorf("name %q leads to another directory", name)
			}
		}
		for _, path := range append(r.Policies, r.Event, r.Dir) {
			if path != "" && filepath.Join("/d", path) != "/d"+path && path != "/" {
				t.Errorf("path %q leads to another directory", path)
			}
		}
		if r.Lease/12 <= 0 {
			t.Error("no heartbeats")
		}
	})
}

func FuzzLog(f *testing.F) {
	f.Add("1", "w", "0", "", "", []byte("{}\n{"), "2", "w", "3", "", "", []byte("{}\n"))
	f.Add("1", "w", "0", "", "", []byte("{}\n{"), "1", "", "", "stopped", "", []byte(""))
	f.Add("1", "w", "0", "", "", []byte("{}\n"), "1", "", "", "", "true", []byte(`{"job":"a"}`))
	f.Fuzz(func(t *testing.T, d1, w1, s1, r1, e1 string, data1 []byte, d2, w2, s2, r2, e2 string, data2 []byte) {
		l := &jobLog{}
		for i, m := range []struct {
			header [5]string
			data   []byte
		}{{[5]string{d1, w1, s1, r1, e1}, data1}, {[5]string{d2, w2, s2, r2, e2}, data2}} {
			header := nats.Header{}
			for at, name := range []string{headerDelivery, headerWorker, headerSize, headerReturn, headerEnd} {
				header.Set(name, m.header[at])
			}
			before := l.delivery()
			l.add(uint64(i+1), time.Time{}, header, m.data)
			if l.delivery() < before || l.last != uint64(i+1) || len(l.text) > len(data1)+len(data2) {
				t.Errorf("delivery %d after %d, last message %d, %d bytes", l.delivery(), before, l.last, len(l.text))
			}
		}
	})
}

// FuzzRecords parses all other records that a server returns.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"limit_usd":1,"spent_usd":0.5,"held":{"k/1":{"spent_usd":0,"reserved_usd":0.1,"requests":1},"k":{}}}`))
	f.Add([]byte(`{"run":"r","key":"k"}`))
	f.Add([]byte(`{"job":"a","end":{"outcome":"passed","cost_usd":0.1},"delivery":1,"files":"files/r/k/1"}`))
	f.Add([]byte(`{"id":"w","jobs":[{"run":"r","job":"a","delivery":1}],"at":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"worker":"w","wait":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var a account
		if json.Unmarshal(text, &a) == nil {
			delete(a.Held, "") // nobody's
			all := a.sums("")
			for name, s := range a.Held {
				if others := a.sums(name).Plus(s); others.Requests != all.Requests {
					t.Errorf("%d requests, want %d", others.Requests, all.Requests)
				}
			}
			a.holders()
			if _, err := json.Marshal(a); err != nil {
				t.Errorf("not written again: %v", err)
			}
		}
		for _, to := range []any{&order{}, &Result{}, &Worker{}, &Cooldown{}} {
			json.Unmarshal(text, to) // must not panic
		}
	})
}

// Whoever appends to a log exhausts no memory.
func TestLogsAreBounded(t *testing.T) {
	l := &jobLog{size: maxLog - 2<<10}
	first := nats.Header{headerDelivery: {"1"}, headerWorker: {"w"}, headerSize: {"0"}}
	more := nats.Header{headerDelivery: {"1"}}
	for i, header := range []nats.Header{first, more, more} {
		l.add(uint64(i+1), time.Time{}, header, []byte("x"))
	}
	if string(l.text) != "x" || l.last != 3 {
		t.Errorf("text %q, last %d", l.text, l.last)
	}
}
