//go:build linux

package tools_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/tooltest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// swapped is a stage on which a directory and a link to outside are exchanged all
// the time, and a file and a link to one outside.
type swapped struct {
	*tooltest.Stage
	swaps atomic.Int64
}

func swapping(t *testing.T) *swapped {
	t.Helper()
	s := &swapped{Stage: tooltest.SetUp(t, "build", map[string]string{"d/secret": "mine\n", "d/f": "mine\n", "x": "mine\n", "../work-beside/f": "s3cret\n"})}
	s.Symlink(s.Outside, "l")
	s.Symlink(filepath.Join(s.Outside, "secret"), "y")
	return s
}

// exchange goes on until enough reports it.
func (s *swapped) exchange(enough func() bool) error {
	dir, err := unix.Open(s.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	for !enough() {
		err := unix.Renameat2(dir, "d", dir, "l", unix.RENAME_EXCHANGE)
		if errors.Is(err, unix.ENOENT) { // what a patch took back may have become one of the two in between
			err = errors.Join(made(unix.Symlinkat(s.Outside, dir, "l")), made(unix.Mkdirat(dir, "d", 0o755)))
		}
		if err != nil {
			return err
		}
		unix.Renameat2(dir, "x", dir, "y", unix.RENAME_EXCHANGE) // a patch may have moved it away for a moment
		s.swaps.Add(1)
	}
	return nil
}

// made is the error of making something that may be there already.
func made(err error) error {
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// swapCalls are calls of every file tool on what is exchanged.
func swapCalls() map[string][]tooltest.Args {
	return map[string][]tooltest.Args{
		"read":  {{"filePath": "d/secret"}, {"filePath": "x"}, {"filePath": "d"}},
		"write": {{"filePath": "d/new", "content": "pwned\n"}, {"filePath": "d/f", "content": "pwned\n"}, {"filePath": "d/deep/er/new", "content": "pwned\n"}, {"filePath": "x", "content": "pwned\n"}},
		"edit":  {{"filePath": "d/f", "oldString": "s3cret", "newString": "pwned"}, {"filePath": "d/f", "oldString": "mine", "newString": "pwned"}, {"filePath": "x", "oldString": "mine", "newString": "pwned"}},
		"apply_patch": {
			tooltest.PatchOf("*** Update File: d/secret", "@@", "-s3cret", "+pwned"), tooltest.PatchOf("*** Add File: d/added", "+pwned"), tooltest.PatchOf("*** Delete File: d/secret"),
			tooltest.PatchOf("*** Add File: d/a/b", "+pwned", "*** Update File: d/f", "*** Move to: d/moved", "@@", "-s3cret", "+pwned"),
		},
		"list": {{"path": "d"}, {"path": "."}},
		"glob": {{"pattern": "**/*", "path": "d"}, {"pattern": "d/*"}},
		"grep": {{"pattern": "s3c[r]et", "path": "d"}, {"pattern": "s3c[r]et"}, {"pattern": "s3c[r]et", "path": "x"}},
	}
}

// keepCalling calls a tool over and over until enough calls were made.
func keepCalling(tool string, calls []tooltest.Args, enough func() bool, call func(string, string) string, made *atomic.Int64, leaked func(string)) {
	var inputs []string
	for _, c := range calls {
		input, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		inputs = append(inputs, string(input))
	}
	for !enough() {
		for _, input := range inputs {
			text := strings.ReplaceAll(call(tool, input), "s3c[r]et", "")
			if strings.Contains(text, "s3cret") || strings.Contains(text, "s3cret-plan") {
				leaked(tool + " " + input + ": " + text)
			}
		}
		made.Add(1)
	}
}

// run swaps files and makes calls concurrently, until there were as many swaps,
// and some calls of each tool, or something leaked and it is to stop at that.
func (s *swapped) run(swaps int64, call func(string, string) string, stopAtLeak bool) (leaks []string) {
	s.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var over atomic.Bool
	rounds := map[string]*atomic.Int64{}
	for tool := range swapCalls() {
		rounds[tool] = &atomic.Int64{}
	}
	enough := func() bool {
		for _, n := range rounds {
			if n.Load() < swaps/200 {
				return over.Load()
			}
		}
		return over.Load() || s.swaps.Load() >= swaps
	}
	for tool, calls := range swapCalls() {
		all.Go(func() {
			keepCalling(tool, calls, enough, call, rounds[tool], func(text string) {
				mu.Lock()
				defer mu.Unlock()
				leaks = append(leaks, text)
				over.Store(stopAtLeak)
			})
		})
	}
	all.Go(func() {
		if err := s.exchange(enough); err != nil {
			s.Error(err)
			over.Store(true)
		}
	})
	all.Wait()
	return leaks
}

// beside is what lies outside of the workspace.
func (s *swapped) beside() map[string]string {
	tree := s.Tree()
	for path := range tree {
		if !strings.HasPrefix(path, s.Outside) {
			delete(tree, path)
		}
	}
	return tree
}

// No file tool gets out by a directory that becomes a link between two looks at it.
func TestNoEscapeDuringSymlinkSwap(t *testing.T) {
	swaps := int64(nightly.Count(8000, 100_000, 1_000_000))
	if testing.Short() {
		swaps = 1000
	}
	s := swapping(t)
	s.Equip(nil)
	before := s.beside()
	leaks := s.run(swaps, func(tool, input string) string { return s.Raw(tool, input).Text() }, false)
	if len(leaks) > 0 {
		t.Errorf("%d answers tell what is outside: %.500s", len(leaks), leaks[0])
	}
	if diff := cmp.Diff(before, s.beside()); diff != "" {
		t.Errorf("outside changed:\n%s", diff)
	}
	t.Logf("%d swaps", s.swaps.Load())
}

// The same exchange does get tools out that look first, and open then.
func TestSwapDefeatsCheckThenOpen(t *testing.T) {
	s := swapping(t)
	end := time.Now().Add(time.Minute)
	leaks := s.run(1<<40, func(tool, input string) string {
		var in tooltest.Args
		if tool != "read" || json.Unmarshal([]byte(input), &in) != nil || time.Now().After(end) {
			return map[bool]string{true: "s3cret: time is up"}[time.Now().After(end)]
		}
		path := filepath.Join(s.Dir, in["filePath"].(string))
		if real, err := filepath.EvalSymlinks(path); err != nil || !strings.HasPrefix(real, s.Dir+"/") {
			return ""
		}
		time.Sleep(100 * time.Microsecond) // longer than tools take, so that it doesn't take long to show
		data, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		return string(data)
	}, true)
	if len(leaks) == 0 || strings.Contains(leaks[0], "time is up") {
		t.Error("the exchange is no attack")
	}
}
