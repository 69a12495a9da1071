package summary

import "testing"

func TestFenceIsLongerThanBackticksInTheText(t *testing.T) {
	for text, want := range map[string]string{
		"":            "```text\n\n```\n",
		"a\n\n":       "```text\na\n```\n",
		"```\n`````x": "``````text\n```\n`````x\n``````\n",
		"\r\n::a\n":   "```text\n\n: :a\n```\n",
	} {
		if got := fence("text", text); got != want {
			t.Errorf("fence(%q) = %q, want %q", text, got, want)
		}
	}
}
