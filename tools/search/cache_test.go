package search

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// settle waits until changes so far are old enough to be remembered.
func settle(tb testing.TB) {
	tb.Helper()
	time.Sleep(margin + 15*time.Millisecond) // the clock advances every 10 ms or more often
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecentVersionsAreNotRemembered: a file can be changed again in the same moment.
func TestRecentVersionsAreNotRemembered(t *testing.T) {
	if fileClock() == 0 {
		t.Skip("no cache on this system")
	}
	c := NewCache(1 << 20)
	m := c.begin()
	for age, want := range map[time.Duration]bool{-time.Hour: false, 0: false, margin: false, margin + 1: true, time.Hour: true} {
		if got := m.accepts(1, version{ctime: m.start - int64(age)}); got != want {
			t.Errorf("changed %s before the search: %t", age, got)
		}
	}
	f := &directory{dev: 1, trust: always}
	for _, v := range []version{{dev: 2, ctime: 1}, {dev: 1, ctime: int64(time.Hour)}} {
		if m.key(f, v, false) != 0 {
			t.Errorf("%+v has a key", v)
		}
	}
	if f.trust = never; m.key(f, version{dev: 1, ctime: 1}, true) != 0 {
		t.Error("a file system without trust has a key")
	}
}

// remembering returns a scope with a cache of a tree, after a search. It skips the test if
// the file system is not trusted.
func remembering(t *testing.T, files map[string]string, limit int) Scope {
	t.Helper()
	scope := Scope{Root: openTree(t, files), Cache: NewCache(limit)}
	settle(t)
	grepLines(t, scope, Query{Pattern: "needle"})
	if h, err := openHandle(scope.Root); err != nil || h.fileSystem() == never {
		t.Skipf("no cache on this file system (error: %v)", err)
	} else {
		h.close()
	}
	return scope
}

// known returns the number of remembered directories and files.
func (c *Cache) known() (dirs, files int) {
	for _, f := range c.facts {
		if f.entries != nil {
			dirs++
		} else {
			files++
		}
	}
	return dirs, files
}

func TestTextsAndBinariesAreRemembered(t *testing.T) {
	scope := remembering(t, map[string]string{
		"a/text": "needle", "b/binary": "\x00needle", "odd": "\u212aelvin", "utf16": "\xff\xfea\x00", "large": strings.Repeat("x", maxRemembered+1), "large.bin": strings.Repeat("\x00", maxRemembered+1), "empty": "",
	}, 1<<20)
	if dirs, files := scope.Cache.known(); dirs != 3 || files != 5 {
		t.Errorf("remembered %d directories and %d files", dirs, files)
	}
	top, err := openHandle(scope.Root)
	check(t, err)
	defer top.close()
	w := walk{scope: scope, memory: scope.Cache.begin()}
	f := newDirectory(top, "", nil)
	_, err = f.list(&w.memory)
	check(t, err)
	for name, want := range map[string]bool{"odd": false, "large": false, "large.bin": true, "empty": true, "utf16": true, "a": false, "missing": false} {
		if got := w.lacks(f, name, needs{any: []literal{{text: []byte("needle")}}}.gramTests()); got != want {
			t.Errorf("%s is known not to match: %t", name, got)
		}
	}
}

func TestNothingIsRememberedDuringChanges(t *testing.T) {
	scope := remembering(t, map[string]string{"a/one": "1", "b/two": "2"}, 1<<20)
	for _, program := range []bool{false, true} {
		scope.Cache = NewCache(1 << 20)
		done := scope.Cache.Changing(program)
		grepLines(t, scope, Query{Pattern: "needle"})
		done()
		scope.Visible = func(string) bool { scope.Cache.Changing(program)(); return true }
		grepLines(t, scope, Query{Pattern: "needle"})
		if dirs, files := scope.Cache.known(); dirs == 3 || files > 0 { // directories were read before the first file
			t.Errorf("remembered %d directories and %d files", dirs, files)
		}
		scope.Visible = nil
		grepLines(t, scope, Query{Pattern: "needle"})
		if dirs, files := scope.Cache.known(); dirs != 3 || files != 2 {
			t.Errorf("remembered %d directories and %d files after the changes", dirs, files)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("d%d/f", i)] = fmt.Sprint("text ", i)
	}
	const limit = 4 << 10
	scope := remembering(t, files, limit)
	full := scope.Cache.size
	if full < limit/4*3 || full > limit+1<<10 {
		t.Errorf("it has %d bytes", full)
	}
	sum := 0
	for _, f := range scope.Cache.facts {
		sum += f.size()
	}
	if sum != full {
		t.Errorf("its facts have %d bytes, but it counts %d", sum, full)
	}
	scope.Base = "d1"
	for range keep + 2 {
		grepLines(t, scope, Query{Pattern: "needle"})
	}
	if dirs, files := scope.Cache.known(); dirs > 1 || files > 1 {
		t.Errorf("%d directories and %d files have not been removed", dirs, files)
	}
}

func TestCacheIsSharedByConcurrentSearches(t *testing.T) {
	scope := remembering(t, map[string]string{"a/one": "needle", "b/two": "2"}, 1<<20)
	scope.Cache = NewCache(1 << 20)
	errs := make(chan error)
	for range 8 {
		go func() { errs <- repeatedly(t.Context(), scope) }()
	}
	for range 8 {
		check(t, <-errs)
	}
}

func repeatedly(ctx context.Context, scope Scope) error {
	for range 20 {
		defer scope.Cache.Changing(true)()
		if r, err := Grep(ctx, scope, Query{Pattern: "needle"}); err != nil || r.Total != 1 {
			return fmt.Errorf("found %d, error %w", r.Total, err)
		}
	}
	return nil
}

// FuzzRememberedFile searches a file whose content is remembered.
func FuzzRememberedFile(f *testing.F) {
	f.Add("(?i)Kelvin", []byte("\u212aelvin\n"))
	f.Add("needle\\r", []byte("a needle\r\nneedle\r\r\n"))
	f.Add("na\u00efve|caf.", []byte("caf\xe9 na\u00efve"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		m, err := newMatcher(pattern)
		if err != nil || m.size > 2000 || len(text) > 1<<16 || slices.Contains(text, 0) || utf16Order(text) != nil || bytes.HasPrefix(text, markUTF8) {
			return
		}
		b := &buffer{}
		b.fit(int64(len(text)))
		scan := fileScan{matcher: m, buffer: b, limit: 1 << 20, path: "f"}
		scan.remember(int64(len(text)))
		check(t, scan.run(t.Context(), bytes.NewReader(text), int64(len(text))))
		known, tests := scan.fact(), m.plain.gramTests()
		if scan.total > 0 && known != nil && tests != nil && !known.grams.mayPass(tests) {
			t.Errorf("%q matches in %q, but it is remembered that it does not", pattern, text)
		}
	})
}
