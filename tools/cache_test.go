package tools_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
)

func TestResultsAreCachedUntilAChange(t *testing.T) {
	changes := map[string]tooltest.Args{
		"write":       {"filePath": "b.txt", "content": "x"},
		"edit":        {"filePath": "a.txt", "oldString": "one", "newString": "two"},
		"apply_patch": tooltest.PatchOf("*** Add File: c.txt", "+x"),
		"bash":        {"command": "true"},
		"batch":       tooltest.BatchOf(tooltest.Batched("write", tooltest.Args{"filePath": "b.txt", "content": "x"})),
	}
	calls := map[string]tooltest.Args{
		"read": {"filePath": "a.txt", "offset": 1}, "list": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "one|two"},
	}
	for change, in := range changes {
		t.Run(change, func(t *testing.T) {
			s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "one\n"})
			s.Equip(tooltest.WithCache)
			ask := func(want bool) {
				t.Helper()
				for tool, in := range calls {
					out := s.Call(tool, in)
					s.Want(out, tools.Completed)
					if out.Cached != want {
						t.Errorf("%s: from the cache: %v", tool, out.Cached)
					}
				}
			}
			ask(false)
			ask(true)
			s.Want(s.Raw("Read", ` { "offset" : 1, "filePath": "a.txt" } `), tools.Completed, "1: one")
			s.Want(s.Call("todowrite", tooltest.Args{"todos": []tooltest.Args{}}), tools.Completed)
			s.Want(s.Call("batch", tooltest.BatchOf(tooltest.Batched("read", tooltest.Args{"filePath": "a.txt"}))), tools.Completed)
			s.Want(s.Call("write", tooltest.Args{"filePath": "../x", "content": ""}), tools.Denied)
			ask(true)
			s.Want(s.Call(change, in), tools.Completed)
			ask(false)
			ask(true)
		})
	}
}

func TestResultsAfterAChangeAreNew(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "one\n"})
	s.Equip(tooltest.WithCache)
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: one")
	s.Want(s.Call("bash", tooltest.Args{"command": "echo two > a.txt; exit 1"}), tools.Completed)
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: two")
	s.Put("a.txt", "somebody else's\n")
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: two")
	s.Want(s.Call("edit", tooltest.Args{"filePath": "a.txt", "oldString": "two", "newString": "x"}), tools.Failed, "read it again first")
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: somebody else's")
}

func TestCachedResultIsAuthorizedAgain(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	s.Equip(tooltest.WithCache)
	first := s.Call("read", tooltest.Args{"filePath": "a.txt"})
	second := s.Call("read", tooltest.Args{"filePath": "a.txt"})
	if !second.Cached || second.Output != first.Output || second.Title != first.Title || second.Decision == nil || second.Bytes != first.Bytes {
		t.Errorf("got %+v", second)
	}
	s.Deny("read", "a.txt")
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Denied)
}

func TestFailuresAreNotCached(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.Equip(tooltest.WithCache)
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Failed)
	s.Put("a.txt", "one\n")
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed)
}

// Two sessions on one workspace: what one writes the other sees.
func TestAWriteOfAnotherSessionInvalidatesTheCache(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n"})
	s.Equip(tooltest.WithCache)
	other := *s.Env
	other.Cache = &tools.Cache{}
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: one")
	out := s.Tools.Dispatch(t.Context(), &other, tools.Call{Name: "write", Input: `{"filePath": "a.txt", "content": "two\n"}`}, nil)
	s.Want(out, tools.Completed)
	s.Want(s.Call("read", tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: two")
}

func TestPagesAreFetchedOnce(t *testing.T) {
	var hits atomic.Int64
	s, at := tooltest.Site(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page ", hits.Add(1)) })
	s.Equip(tooltest.WithCache)
	s.Want(s.Call("webfetch", tooltest.Args{"url": at}), tools.Completed, "page 1")
	s.Want(s.Call("webfetch", tooltest.Args{"url": at}), tools.Completed, "page 1")
	s.Want(s.Call("webfetch", tooltest.Args{"url": at, "format": "html"}), tools.Completed, "page 2")
	s.Want(s.Call("bash", tooltest.Args{"command": "true"}), tools.Completed)
	s.Want(s.Call("webfetch", tooltest.Args{"url": at}), tools.Completed, "page 3")
}

func TestACacheHasAtMostMaxCachedResults(t *testing.T) {
	var c tools.Cache
	for i := range 10 * tools.MaxCached {
		c.Put(fmt.Sprint(i), 0, tools.Outcome{})
	}
	if c.Len() > tools.MaxCached {
		t.Errorf("%d answers are kept", c.Len())
	}
}
