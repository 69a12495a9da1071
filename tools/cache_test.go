package tools

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

func withCache(env *Env) { env.Tree, env.Cache, env.Batch = &Tree{}, &Cache{}, true }

func TestResultsAreCachedUntilAChange(t *testing.T) {
	changes := map[string]args{
		"write":       {"filePath": "b.txt", "content": "x"},
		"edit":        {"filePath": "a.txt", "oldString": "one", "newString": "two"},
		"apply_patch": patchOf("*** Add File: c.txt", "+x"),
		"bash":        {"command": "true"},
		"batch":       batchOf(batched("write", args{"filePath": "b.txt", "content": "x"})),
	}
	calls := map[string]args{
		"read": {"filePath": "a.txt", "offset": 1}, "list": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "one|two"},
	}
	for change, in := range changes {
		t.Run(change, func(t *testing.T) {
			s := setUp(t, "build", map[string]string{"a.txt": "one\n"})
			s.equip(withCache)
			ask := func(want bool) {
				t.Helper()
				for tool, in := range calls {
					out := s.call(tool, in)
					s.want(out, Completed)
					if out.Cached != want {
						t.Errorf("%s: from the cache: %v", tool, out.Cached)
					}
				}
			}
			ask(false)
			ask(true)
			s.want(s.raw("Read", ` { "offset" : 1, "filePath": "a.txt" } `), Completed, "1: one")
			s.want(s.call("todowrite", args{"todos": []args{}}), Completed)
			s.want(s.call("batch", batchOf(batched("read", args{"filePath": "a.txt"}))), Completed)
			s.want(s.call("write", args{"filePath": "../x", "content": ""}), Denied)
			ask(true)
			s.want(s.call(change, in), Completed)
			ask(false)
			ask(true)
		})
	}
}

func TestResultsAfterAChangeAreNew(t *testing.T) {
	s := setUp(t, "build", map[string]string{"a.txt": "one\n"})
	s.equip(withCache)
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "1: one")
	s.want(s.call("bash", args{"command": "echo two > a.txt; exit 1"}), Completed)
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "1: two")
	s.put("a.txt", "somebody else's\n")
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "1: two")
	s.want(s.call("edit", args{"filePath": "a.txt", "oldString": "two", "newString": "x"}), Failed, "read it again first")
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "1: somebody else's")
}

func TestCachedResultIsAuthorizedAgain(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	s.equip(withCache)
	first := s.call("read", args{"filePath": "a.txt"})
	second := s.call("read", args{"filePath": "a.txt"})
	if !second.Cached || second.Output != first.Output || second.Title != first.Title || second.Decision == nil || second.Bytes != first.Bytes {
		t.Errorf("got %+v", second)
	}
	s.deny("read", "a.txt")
	s.want(s.call("read", args{"filePath": "a.txt"}), Denied)
}

func TestFailuresAreNotCached(t *testing.T) {
	s := setUp(t, "readonly", nil)
	s.equip(withCache)
	s.want(s.call("read", args{"filePath": "a.txt"}), Failed)
	s.put("a.txt", "one\n")
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed)
}

// Two sessions on one workspace: what one writes the other sees.
func TestAWriteOfAnotherSessionInvalidatesTheCache(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a.txt": "one\n"})
	s.equip(withCache)
	other := *s.env
	other.Cache = &Cache{}
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "1: one")
	out := s.tools.Dispatch(t.Context(), &other, Call{Name: "write", Input: `{"filePath": "a.txt", "content": "two\n"}`}, nil)
	s.want(out, Completed)
	s.want(s.call("read", args{"filePath": "a.txt"}), Completed, "1: two")
}

func TestPagesAreFetchedOnce(t *testing.T) {
	var hits atomic.Int64
	s, at := site(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page ", hits.Add(1)) })
	s.equip(withCache)
	s.want(s.call("webfetch", args{"url": at}), Completed, "page 1")
	s.want(s.call("webfetch", args{"url": at}), Completed, "page 1")
	s.want(s.call("webfetch", args{"url": at, "format": "html"}), Completed, "page 2")
	s.want(s.call("bash", args{"command": "true"}), Completed)
	s.want(s.call("webfetch", args{"url": at}), Completed, "page 3")
}

func TestCacheLimit(t *testing.T) {
	var c Cache
	for i := range 10 * maxCached {
		c.put(fmt.Sprint(i), 0, Outcome{})
	}
	if len(c.results) > maxCached {
		t.Errorf("%d answers are kept", len(c.results))
	}
}
