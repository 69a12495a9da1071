package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/tools/arguments"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed batch.md
var batchDescription string

// maxBatch is the maximum number of calls of a batch; maxBatchAttached is the
// maximum total size of their attachments in bytes.
const (
	maxBatch         = 25
	maxBatchAttached = 20 << 20
)

// The minimum size of a command's truncated output, enough to show how it
// ended.
const (
	minTailLines = 3
	minTailBytes = 160
)

type batchInput struct {
	Calls []batchCall `json:"tool_calls" jsonschema:"tool calls to run, at most 25"`
}

type batchCall struct {
	Tool       string        `json:"tool" jsonschema:"tool name"`
	Parameters arguments.Any `json:"parameters,omitzero" jsonschema:"arguments of the tool"`
}

// batchTool returns the batch tool for the tools of a registry.
func batchTool(r *Registry) Tool {
	return tool.Define(Spec{Name: "batch", Description: batchDescription, Internal: true}, func(env *Env, in batchInput) (Pending, error) {
		if len(in.Calls) == 0 {
			return Pending{}, errors.New("tool_calls is empty; specify at least one call")
		}
		title := figures.Count(len(in.Calls), "call")
		return Pending{Title: title, Needs: []permission.Request{permission.Need("batch", "*")}, Do: func(ctx context.Context) (Result, error) {
			return r.batchResult(env, in.Calls, r.runBatch(ctx, env, in.Calls)), nil
		}}, nil
	})
}

// runBatch runs the calls and returns their outcomes in order.
func (r *Registry) runBatch(ctx context.Context, env *Env, calls []batchCall) []Outcome {
	outcomes := make([]Outcome, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		switch {
		case i >= maxBatch:
			outcomes[i] = notInBatch(c, "not run: a batch is limited to 25 calls; call this tool again")
		case strings.EqualFold(plainToolName(c.Tool), "batch"):
			outcomes[i] = notInBatch(c, "a batch can't contain another batch; list its calls directly")
		case env.Untrusted.Armed(): // each is decided with what the one before has read
			outcomes[i] = r.nested(ctx, env, i, c)
		default:
			group.Go(func() { outcomes[i] = r.nested(ctx, env, i, c) })
		}
	}
	group.Wait()
	return outcomes
}

func notInBatch(c batchCall, why string) Outcome {
	return Outcome{Tool: c.Tool, Status: Failed, Error: why}
}

// nested runs one call of a batch through Dispatch, like any other call.
func (r *Registry) nested(ctx context.Context, env *Env, i int, c batchCall) Outcome {
	call := Call{ID: fmt.Sprintf("%s.%d", tool.CallID(ctx), i+1), Name: c.Tool, Input: string(c.Parameters.RawMessage)}
	if env.Nested != nil {
		return env.Nested(ctx, call)
	}
	return r.Dispatch(ctx, env, call, nil)
}

// batchResult joins the results. If they exceed the limit together, the longest
// are truncated to the same size, so that short results stay complete.
func (r *Registry) batchResult(env *Env, calls []batchCall, outcomes []Outcome) Result {
	texts := make([]string, len(outcomes))
	sizes, heights := make([]int, len(outcomes)), make([]int, len(outcomes))
	var res Result
	var names []string
	completed, attached := 0, 0
	for i, o := range outcomes {
		texts[i] = o.Text()
		sizes[i], heights[i] = cut.Size(texts[i]), cut.LineCount(texts[i])
		names = append(names, cut.Title(calls[i].Tool))
		for _, a := range o.Attachments {
			if attached += len(a.Data); attached <= maxBatchAttached {
				res.Attachments = append(res.Attachments, a)
			} else {
				texts[i] += " (Attachment omitted: the batch has too many. Make this call separately.)"
			}
		}
		if o.Status == Completed {
			completed++
		}
	}
	room := fairShare(sizes, env.outputs().Bytes()-300-len(texts)*400)
	rows := fairShare(heights, env.outputs().Lines()-10-len(texts)*5)
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d calls were successful.\n", completed, len(outcomes))
	for i, text := range texts {
		shown := cutResult(text, rows, room, r.tail(outcomes[i].Tool), outcomes[i])
		fmt.Fprintf(&out, "\n<call number=\"%d\" tool=%q status=%q>\n%s\n</call>\n", i+1, names[i], outcomes[i].Status, shown)
		res.Cut = res.Cut || shown != text
	}
	res.Output = out.String()
	return res
}

// tail reports whether a tool's output is truncated to its tail.
func (r *Registry) tail(name string) bool {
	t, ok := r.lookup(name)
	return ok && t.Spec().Tail
}

// cutResult truncates a call's text to a number of lines and bytes, with a
// note. A command's output is truncated to its tail, which shows how it ended;
// an error before it is preserved.
func cutResult(text string, rows, room int, tail bool, o Outcome) string {
	if !tail || o.Output == "" {
		if shown := cut.Bytes(cut.Lines(text, rows, false), room, false); len(shown) < len(text) {
			return shown + "\n(result truncated: make this call separately)"
		}
		return text
	}
	head := strings.TrimSuffix(text, o.Output)
	rows, room = max(rows-cut.LineCount(head), minTailLines), max(room-cut.Size(head), minTailBytes)
	shown := cut.Bytes(cut.Lines(o.Output, rows, true), room, true)
	if len(shown) == len(o.Output) {
		return text
	}
	where := "make this call separately"
	if p := o.Metadata.OutputPath; p != "" {
		where = "more of it is saved to " + p
	}
	return fmt.Sprintf("%s(result truncated, only the tail is shown: %s)\n%s", head, where, shown)
}

// fairShare returns the largest limit such that the sizes, each capped at it,
// fit in room together.
func fairShare(sizes []int, room int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		share := max(room, 0) / (len(sorted) - i)
		if size > share {
			return share
		}
		room -= size
	}
	return max(room, 1<<20) // everything fits
}
