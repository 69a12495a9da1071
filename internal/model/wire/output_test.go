package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
)

func TestTheInputOfTheOutputToolIsTheResponse(t *testing.T) {
	response := model.ToolCall{ID: "a", Name: OutputTool, Input: `{"ok":true}`}
	other := model.ToolCall{ID: "b", Name: "bash", Input: "{}"}
	tests := []struct {
		name      string
		got, want model.Response
	}{
		{"alone", model.Response{Text: "here", Calls: []model.ToolCall{response}, Finish: model.FinishTools}, model.Response{Text: `{"ok":true}`, Finish: model.FinishStop}},
		{"cut off", model.Response{Calls: []model.ToolCall{response}, Finish: model.FinishLength}, model.Response{Text: `{"ok":true}`, Finish: model.FinishLength}},
		{"beside others it came too early", model.Response{Text: "x", Calls: []model.ToolCall{response, other}, Finish: model.FinishTools}, model.Response{Text: "x", Calls: []model.ToolCall{other}, Finish: model.FinishTools}},
		{"not called", model.Response{Text: "x", Calls: []model.ToolCall{other}, Finish: model.FinishTools}, model.Response{Text: "x", Calls: []model.ToolCall{other}, Finish: model.FinishTools}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			UseOutputCall(&test.got)
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnInputIsAnObject(t *testing.T) {
	for text, want := range map[string]string{
		"":                 `{}`,
		" \n":              `{}`,
		` {"a": 1} `:       `{"a": 1}`,
		`{"a":`:            `{"malformed":"{\"a\":"}`,
		`[1]`:              `{"malformed":"[1]"}`,
		`"text"`:           `{"malformed":"\"text\""}`,
		"{\"a\":\"\xff\"}": "{\"a\":\"\uFFFD\"}",
	} {
		if got := string(Object(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
