package step

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/world"
)

func TestRunHasItsOwnEnvironment(t *testing.T) {
	outer := map[string]string{
		"ANTHROPIC_API_KEY": "of the machine", "OPENAI_API_KEY": "of the machine", "INPUT_API_KEY": "x", "INPUT_MODEL": "x",
		"GITHUB_OUTPUT": "/f", "GITHUB_ENV": "/f", "GITHUB_PATH": "/f", "GITHUB_STATE": "/f", "GITHUB_STEP_SUMMARY": "/f", "GITHUB_SHA": "c0ffee",
	}
	s := Step{World: world.World{Getenv: func(name string) string { return outer[name] }}}
	c := invocation{Inputs: action.Inputs{Model: "anthropic/claude", BaseURL: "http://x"}, key: "of the input"}
	got := map[string]string{}
	for name := range outer {
		if v := s.environment(c)(name); v != "" {
			got[name] = v
		}
	}
	want := map[string]string{"ANTHROPIC_API_KEY": "of the input", "OPENAI_API_KEY": "of the machine", "GITHUB_SHA": "c0ffee"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if url := s.environment(c)("ANTHROPIC_BASE_URL"); url != "http://x" {
		t.Errorf("base URL %q", url)
	}
}
