package tools_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/change"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/outputs"

	"github.com/google/go-cmp/cmp"
)

func TestBatchReturnsTheResultOfEachCall(t *testing.T) {
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": "one\n", "b.txt": "two\n", ".env": "K=1\n"})
	s.Equip(tooltest.WithBatch)
	out := s.Call("batch", tooltest.BatchOf(
		tooltest.Batched("read", tooltest.Args{"filePath": "a.txt"}), tooltest.Batched("READ", tooltest.Args{"filePath": "b.txt", "limit": "1"}), tooltest.Batched("read", tooltest.Args{"filePath": ".env"}),
		tooltest.Batched("write", tooltest.Args{"filePath": "c.txt", "content": "three\n"}), tooltest.Batched("batch", tooltest.BatchOf()), tooltest.Batched("nope", nil), tooltest.Batched("grep", tooltest.Args{}), tooltest.Batched("bash", tooltest.Args{"command": "ls"}),
	))
	s.Want(out, tools.Completed, "3 of 8 calls were successful.\n", "<call number=\"1\" tool=\"read\" status=\"completed\">\n<path>a.txt</path>", "1: one", "1: two",
		"<call number=\"3\" tool=\"read\" status=\"denied\">\nError: permission denied: read \".env\"", "<call number=\"4\" tool=\"write\" status=\"completed\">\nCreated c.txt",
		"a batch can't contain another batch", `tool "nope" not found; available tools: `, "missing required argument pattern", `denied: bash "*"`)
	if s.Content("c.txt") != "three\n" {
		t.Error("nothing was written")
	}
}

func TestABatchCutsItsLargeResultsOnly(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"small.txt": "small\n", "large.txt": strings.Repeat(strings.Repeat("x", 99)+"\n", 400), "long.txt": strings.Repeat("x\n", 1900)})
	s.Equip(tooltest.WithBatch)
	s.Want(s.Call("batch", tooltest.BatchOf()), tools.Failed, "tool_calls is empty; specify at least one call")
	var calls []tooltest.Args
	for range 30 {
		calls = append(calls, tooltest.Batched("read", tooltest.Args{"filePath": "small.txt"}))
	}
	out := s.Call("batch", tooltest.BatchOf(calls...))
	s.Want(out, tools.Completed, "25 of 30 calls were successful.", "<call number=\"30\" tool=\"read\" status=\"error\">\nError: not run: a batch is limited to 25 calls; call this tool again")
	if out.Truncated {
		t.Error("small answers were cut")
	}
	for _, name := range []string{"large.txt", "long.txt"} {
		out = s.Call("batch", tooltest.BatchOf(tooltest.Batched("read", tooltest.Args{"filePath": name}), tooltest.Batched("read", tooltest.Args{"filePath": "small.txt"}), tooltest.Batched("read", tooltest.Args{"filePath": name}), tooltest.Batched("read", tooltest.Args{"filePath": "small.txt"})))
		if cut.Size(out.Output) > outputs.DefaultBytes || cut.LineCount(out.Output) > outputs.DefaultLines || !out.Truncated {
			t.Errorf("%s: %d bytes, %d lines, cut %v", name, cut.Size(out.Output), cut.LineCount(out.Output), out.Truncated)
		}
		if n := strings.Count(out.Output, "1: small\n"); n != 2 || strings.Count(out.Output, "result truncated: make this call separately") != 2 {
			t.Errorf("%s: of the small answers %d are whole", name, n)
		}
	}
}

func TestSharesOfABatchFillItsRoom(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		room  int
		total int
	}{{[]int{10, 20, 30}, 60, 60}, {[]int{10, 100, 100}, 60, 60}, {[]int{100, 100}, 50, 50}, {[]int{5, 5}, 0, 0}, {[]int{5}, -3, 0}, {nil, 10, 0}} {
		share, sum := tools.FairShare(tt.sizes, tt.room), 0
		for _, n := range tt.sizes {
			sum += min(n, share)
		}
		if sum != tt.total {
			t.Errorf("%v in %d: cut to %d, in all %d", tt.sizes, tt.room, share, sum)
		}
	}
}

func TestTheSessionRecordsEachCallOfABatch(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	var mu sync.Mutex
	var seen []string
	s.Equip(func(env *tools.Env) {
		env.Batch = true
		env.Nested = func(ctx context.Context, c tools.Call) tools.Outcome {
			out := s.Tools.Dispatch(ctx, s.Env, c, nil)
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(c.ID, " ", c.Name, " ", c.Input, " ", out.Status))
			return out
		}
	})
	s.Want(s.Call("batch", tooltest.BatchOf(tooltest.Batched("read", tooltest.Args{"filePath": "a.txt", "offset": 1 << 53}), tooltest.Batched("bash", tooltest.Args{"command": "x"}))), tools.Completed)
	slices.Sort(seen)
	want := []string{`call_1.1 read {"filePath":"a.txt","offset":9007199254740992} error`, `call_1.2 bash {"command":"x"} denied`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// Without a lock, each concurrent edit reads the file, changes it and writes it
// back: without turns all but the last would be lost.
func TestConcurrentEditsOfOneFileLoseNothing(t *testing.T) {
	var text strings.Builder
	var calls []tooltest.Args
	for i := range tools.MaxBatch {
		fmt.Fprintf(&text, "<%d>\n", i)
		in := tooltest.Args{"filePath": "a.txt", "oldString": fmt.Sprintf("<%d>", i), "newString": fmt.Sprintf("(%d)", i)}
		tool := "edit"
		if i%3 == 0 {
			tool, in = "apply_patch", tooltest.Args{"patchText": fmt.Sprintf("*** Begin Patch\n*** Update File: a.txt\n@@\n-<%d>\n+(%d)\n*** End Patch", i, i)}
		}
		calls = append(calls, tooltest.Batched(tool, in))
	}
	s := tooltest.SetUp(t, "edit", map[string]string{"a.txt": text.String()})
	s.Equip(func(env *tools.Env) { env.Batch, env.Changes = true, &change.Tracker{} })
	s.Want(s.Call("batch", tooltest.BatchOf(calls...)), tools.Completed, "25 of 25 calls were successful")
	if got, want := s.Content("a.txt"), strings.NewReplacer("<", "(", ">", ")").Replace(text.String()); got != want {
		t.Errorf("the file holds %s", got)
	}
}

func TestABatchKeepsTheTailOfCommandOutput(t *testing.T) {
	s := tooltest.SetUp(t, "build", nil)
	s.WithCustom(command.Custom{Command: tooltest.Script("seq 1 3000; echo LAST; echo why >&2; exit 3")})
	s.Env.Batch = true
	tool, _ := s.Tools.Lookup("deploy")
	s.Equip(nil, tool)
	command := tooltest.Batched("bash", tooltest.Args{"command": "seq 1 3000; echo FATAL; exit 9"})
	out := s.Call("batch", tooltest.BatchOf(command))
	s.Want(out, tools.Completed, "\n3000\nFATAL\n\n\n(exit code 9)\n</call>", "(result truncated, only the tail is shown: more of it is saved to "+s.Env.Outputs.Path())
	if !out.Truncated || cut.Size(out.Output) > outputs.DefaultBytes || cut.LineCount(out.Output) > outputs.DefaultLines {
		t.Errorf("cut %v, %d bytes, %d lines", out.Truncated, cut.Size(out.Output), cut.LineCount(out.Output))
	}
	s.Want(s.Call("batch", tooltest.BatchOf(tooltest.Batched("deploy", tooltest.Args{}))), tools.Completed, "Error: tool deploy failed with exit code 3: why\n\n(result truncated", "\n3000\nLAST\n\n</call>")
	s.Want(s.Call("batch", tooltest.BatchOf(tooltest.Batched("bash", tooltest.Args{"command": "seq 1 3; exit 9"}))), tools.Completed, "\n1\n2\n3\n\n\n(exit code 9)\n</call>")
	var calls []tooltest.Args
	for range tools.MaxBatch {
		calls = append(calls, command)
	}
	if out := s.Call("batch", tooltest.BatchOf(calls...)); strings.Count(out.Output, "FATAL\n\n\n(exit code 9)\n</call>") != tools.MaxBatch {
		t.Errorf("an end is missing: %.3000q", out.Output)
	}
}
