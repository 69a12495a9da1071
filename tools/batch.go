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
)

//go:embed batch.md
var batchDescription string

// maxBatch is how many calls of a batch are carried out; maxBatchAttached how
// many bytes of attachments they may have in all.
const (
	maxBatch         = 25
	maxBatchAttached = 4 * maxAttachment
)

// What is left of a command's output at the least: how it ended is in there.
const (
	minTailLines = 3
	minTailBytes = 160
)

type batchInput struct {
	Calls []batchCall `json:"tool_calls" jsonschema:"tool calls to run, at most 25"`
}

type batchCall struct {
	Tool       string    `json:"tool" jsonschema:"tool name"`
	Parameters arguments `json:"parameters,omitzero" jsonschema:"arguments of the tool"`
}

// batchTool makes the tool for the calls of a registry.
func batchTool(r *Registry) Tool {
	return Define(Spec{Name: "batch", Description: batchDescription, Internal: true}, func(env *Env, in batchInput) (Pending, error) {
		if len(in.Calls) == 0 {
			return Pending{}, errors.New("tool_calls is empty; specify at least one call")
		}
		title := fmt.Sprintf("%d calls", len(in.Calls))
		return Pending{Title: title, Needs: []permission.Request{permission.Need("batch", "*")}, Do: func(ctx context.Context) (Result, error) {
			return r.batchResult(env, in.Calls, r.runBatch(ctx, env, in.Calls)), nil
		}}, nil
	})
}

// runBatch carries out the calls and returns their outcomes in order.
func (r *Registry) runBatch(ctx context.Context, env *Env, calls []batchCall) []Outcome {
	outcomes := make([]Outcome, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		switch {
		case i >= maxBatch:
			outcomes[i] = notInBatch(c, "not run: a batch is limited to 25 calls; call this tool again")
		case strings.EqualFold(strings.TrimSpace(c.Tool), "batch"):
			outcomes[i] = notInBatch(c, "a batch can't contain another batch; list its calls directly")
		default:
			group.Go(func() { outcomes[i] = r.nested(ctx, env, i, c) })
		}
	}
	group.Wait()
	return outcomes
}

func notInBatch(c batchCall, why string) Outcome {
	return Outcome{Tool: c.Tool, Status: Failed, Error: why, Metadata: map[string]any{}}
}

// nested carries out one call of a batch, through the gate like any other.
func (r *Registry) nested(ctx context.Context, env *Env, i int, c batchCall) Outcome {
	call := Call{ID: fmt.Sprintf("%s.%d", callID(ctx), i+1), Name: c.Tool, Input: string(c.Parameters.RawMessage)}
	if env.Nested != nil {
		return env.Nested(ctx, call)
	}
	return r.Dispatch(ctx, env, call, nil)
}

// batchResult puts the answers one below the other. Where they don't fit
// together the longest are cut, all to the same size, so that none is lost for
// another's sake.
func (r *Registry) batchResult(env *Env, calls []batchCall, outcomes []Outcome) Result {
	texts := make([]string, len(outcomes))
	sizes, heights := make([]int, len(outcomes)), make([]int, len(outcomes))
	res := Result{Metadata: map[string]any{}}
	var names []string
	completed, attached := 0, 0
	for i, o := range outcomes {
		texts[i] = o.Text()
		sizes[i], heights[i] = jsonSize(texts[i]), lineCount(texts[i])
		names = append(names, brief(calls[i].Tool))
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
	room := fairShare(sizes, env.sizeLimit()-300-len(texts)*400)
	rows := fairShare(heights, env.lineLimit()-10-len(texts)*5)
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d calls were successful.\n", completed, len(outcomes))
	for i, text := range texts {
		shown := cutResult(text, rows, room, r.tail(outcomes[i].Tool), outcomes[i])
		fmt.Fprintf(&out, "\n<call number=\"%d\" tool=%q status=%q>\n%s\n</call>\n", i+1, names[i], outcomes[i].Status, shown)
		res.Cut = res.Cut || shown != text
	}
	res.Output = out.String()
	res.Metadata["total"], res.Metadata["successful"], res.Metadata["failed"], res.Metadata["tools"] = len(outcomes), completed, len(outcomes)-completed, names
	return res
}

// tail reports whether the end of a tool's answer counts more than its
// beginning.
func (r *Registry) tail(name string) bool {
	t, ok := r.lookup(name)
	return ok && t.Spec().Tail
}

// cutAnswer cuts a call's text to so many lines and bytes, and says so. Of what
// a command printed the end stays, which says how it ended; an error, which
// stands before that, stays too.
func cutResult(text string, rows, room int, tail bool, o Outcome) string {
	if !tail || o.Output == "" {
		if kept := cutBytes(cutLines(text, rows, false), room, false); len(kept) < len(text) {
			return kept + "\n(result truncated: make this call separately)"
		}
		return text
	}
	head := strings.TrimSuffix(text, o.Output)
	rows, room = max(rows-lineCount(head), minTailLines), max(room-jsonSize(head), minTailBytes)
	kept := cutBytes(cutLines(o.Output, rows, true), room, true)
	if len(kept) == len(o.Output) {
		return text
	}
	where := "make this call separately"
	if p, ok := o.Metadata["output_path"].(string); ok {
		where = "more of it is saved to " + p
	}
	return fmt.Sprintf("%s(result truncated, only the tail is shown: %s)\n%s", head, where, kept)
}

// fairShare returns the largest size to which all that is larger must be cut so
// that everything fits into the room.
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
