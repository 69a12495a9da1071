package changes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
)

// What differs between two states is that of the hook, except what the agent had changed before.
func TestNoteOfHooks(t *testing.T) {
	for name, c := range map[string]struct {
		left          map[string]leftover
		before, after state.States
		want          []event.LeftFile
	}{
		"a new file":                 {after: state.States{"log": "f 1"}, want: []event.LeftFile{{Path: "log", State: "f 1"}}},
		"the agent's, formatted":     {before: state.States{"a": "f 1"}, after: state.States{"a": "f 2"}},
		"the agent's, as before":     {before: state.States{"a": "f 1"}, after: state.States{}},
		"the agent's, moved":         {before: state.States{"a": "f 1"}, after: state.States{"b": "f 1"}},
		"the agent's, moved tracked": {before: state.States{"a": "f 1"}, after: state.States{"a": "deleted", "b": "f 1"}},
		"the agent's, copied":        {before: state.States{"a": "f 1"}, after: state.States{"a": "f 1", "b": "f 1"}, want: []event.LeftFile{{Path: "b", State: "f 1"}}},
		"restored, another deleted":  {before: state.States{"a": "deleted"}, after: state.States{"b": "deleted"}, want: []event.LeftFile{{Path: "b", State: "deleted"}}},
		"its own, changed":           {left: map[string]leftover{"log": {event.ByHook, "f 1"}}, before: state.States{"log": "f 1"}, after: state.States{"log": "f 2"}, want: []event.LeftFile{{Path: "log", State: "f 2"}}},
		"its own, moved":             {left: map[string]leftover{"log": {event.ByHook, "f 1"}}, before: state.States{"log": "f 1"}, after: state.States{"log.1": "f 1"}, want: []event.LeftFile{{Path: "log", State: base}, {Path: "log.1", State: "f 1"}}},
		"its own, which the agent changed": {
			left: map[string]leftover{"log": {event.ByHook, "f 1"}}, before: state.States{"log": "f 2"}, after: state.States{"log": "f 3"},
		},
	} {
		d := &Differences{files: c.left}
		if diff := cmp.Diff(c.want, d.note(event.ByHook, c.before, c.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
