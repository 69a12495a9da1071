package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// batchOf makes a batch's arguments.
func batchOf(calls ...args) args { return args{"tool_calls": append([]args{}, calls...)} }

func batched(tool string, in args) args { return args{"tool": tool, "parameters": in} }

func withBatch(env *Env) { env.Batch = true }

func TestBatchReturnsTheResultOfEachCall(t *testing.T) {
	s := setUp(t, "edit", map[string]string{"a.txt": "one\n", "b.txt": "two\n", ".env": "K=1\n"})
	s.equip(withBatch)
	out := s.call("batch", batchOf(
		batched("read", args{"filePath": "a.txt"}), batched("READ", args{"filePath": "b.txt", "limit": "1"}), batched("read", args{"filePath": ".env"}),
		batched("write", args{"filePath": "c.txt", "content": "three\n"}), batched("batch", batchOf()), batched("nope", nil), batched("grep", args{}), batched("bash", args{"command": "ls"}),
	))
	s.want(out, Completed, "3 of 8 calls were successful.\n", "<call number=\"1\" tool=\"read\" status=\"completed\">\n<path>a.txt</path>", "1: one", "1: two",
		"<call number=\"3\" tool=\"read\" status=\"denied\">\nError: permission denied: read \".env\"", "<call number=\"4\" tool=\"write\" status=\"completed\">\nCreated c.txt",
		"a batch can't contain another batch", `tool "nope" not found; available tools: `, "missing required argument pattern", `denied: bash "*"`)
	if s.content("c.txt") != "three\n" {
		t.Error("nothing was written")
	}
}

func TestBatchLimits(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"small.txt": "small\n", "large.txt": strings.Repeat(strings.Repeat("x", 99)+"\n", 400), "long.txt": strings.Repeat("x\n", 1900)})
	s.equip(withBatch)
	s.want(s.call("batch", batchOf()), Failed, "tool_calls is empty; specify at least one call")
	var calls []args
	for range 30 {
		calls = append(calls, batched("read", args{"filePath": "small.txt"}))
	}
	out := s.call("batch", batchOf(calls...))
	s.want(out, Completed, "25 of 30 calls were successful.", "<call number=\"30\" tool=\"read\" status=\"error\">\nError: not run: a batch is limited to 25 calls; call this tool again")
	if out.Truncated {
		t.Error("small answers were cut")
	}
	for _, name := range []string{"large.txt", "long.txt"} {
		out = s.call("batch", batchOf(batched("read", args{"filePath": name}), batched("read", args{"filePath": "small.txt"}), batched("read", args{"filePath": name}), batched("read", args{"filePath": "small.txt"})))
		if jsonSize(out.Output) > defaultBytes || lineCount(out.Output) > defaultLines || !out.Truncated {
			t.Errorf("%s: %d bytes, %d lines, cut %v", name, jsonSize(out.Output), lineCount(out.Output), out.Truncated)
		}
		if n := strings.Count(out.Output, "1: small\n"); n != 2 || strings.Count(out.Output, "result truncated: make this call separately") != 2 {
			t.Errorf("%s: of the small answers %d are whole", name, n)
		}
	}
}

func TestFairShare(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		room  int
		total int
	}{{[]int{10, 20, 30}, 60, 60}, {[]int{10, 100, 100}, 60, 60}, {[]int{100, 100}, 50, 50}, {[]int{5, 5}, 0, 0}, {[]int{5}, -3, 0}, {nil, 10, 0}} {
		share, sum := fairShare(tt.sizes, tt.room), 0
		for _, n := range tt.sizes {
			sum += min(n, share)
		}
		if sum != tt.total {
			t.Errorf("%v in %d: cut to %d, in all %d", tt.sizes, tt.room, share, sum)
		}
	}
}

func TestTheSessionRecordsEachCallOfABatch(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	var mu sync.Mutex
	var seen []string
	s.equip(func(env *Env) {
		env.Batch = true
		env.Nested = func(ctx context.Context, c Call) Outcome {
			out := s.tools.Dispatch(ctx, s.env, c, nil)
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(c.ID, " ", c.Name, " ", c.Input, " ", out.Status))
			return out
		}
	})
	s.want(s.call("batch", batchOf(batched("read", args{"filePath": "a.txt", "offset": 1 << 53}), batched("bash", args{"command": "x"}))), Completed)
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
	var calls []args
	for i := range maxBatch {
		fmt.Fprintf(&text, "<%d>\n", i)
		in := args{"filePath": "a.txt", "oldString": fmt.Sprintf("<%d>", i), "newString": fmt.Sprintf("(%d)", i)}
		tool := "edit"
		if i%3 == 0 {
			tool, in = "apply_patch", args{"patchText": fmt.Sprintf("*** Begin Patch\n*** Update File: a.txt\n@@\n-<%d>\n+(%d)\n*** End Patch", i, i)}
		}
		calls = append(calls, batched(tool, in))
	}
	s := setUp(t, "edit", map[string]string{"a.txt": text.String()})
	s.equip(func(env *Env) { env.Batch, env.Tree = true, &Tree{} })
	s.want(s.call("batch", batchOf(calls...)), Completed, "25 of 25 calls were successful")
	if got, want := s.content("a.txt"), strings.NewReplacer("<", "(", ">", ")").Replace(text.String()); got != want {
		t.Errorf("the file holds %s", got)
	}
}

func TestABatchKeepsTheTailOfCommandOutput(t *testing.T) {
	s := setUp(t, "build", nil)
	s.withCustom(Custom{Command: script("seq 1 3000; echo LAST; echo why >&2; exit 3")})
	s.env.Batch = true
	tool, _ := s.tools.lookup("deploy")
	s.equip(nil, tool)
	command := batched("bash", args{"command": "seq 1 3000; echo FATAL; exit 9"})
	out := s.call("batch", batchOf(command))
	s.want(out, Completed, "\n3000\nFATAL\n\n\n(exit code 9)\n</call>", "(result truncated, only the tail is shown: more of it is saved to "+s.env.Outputs.Path())
	if !out.Truncated || jsonSize(out.Output) > defaultBytes || lineCount(out.Output) > defaultLines {
		t.Errorf("cut %v, %d bytes, %d lines", out.Truncated, jsonSize(out.Output), lineCount(out.Output))
	}
	s.want(s.call("batch", batchOf(batched("deploy", args{}))), Completed, "Error: tool deploy failed with exit code 3: why\n\n(result truncated", "\n3000\nLAST\n\n</call>")
	s.want(s.call("batch", batchOf(batched("bash", args{"command": "seq 1 3; exit 9"}))), Completed, "\n1\n2\n3\n\n\n(exit code 9)\n</call>")
	var calls []args
	for range maxBatch {
		calls = append(calls, command)
	}
	if out := s.call("batch", batchOf(calls...)); strings.Count(out.Output, "FATAL\n\n\n(exit code 9)\n</call>") != maxBatch {
		t.Errorf("an end is missing: %.3000q", out.Output)
	}
}
