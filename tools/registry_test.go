package tools

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What models are shown is a text that they were tried with: it changes on
// purpose only.
func TestTheOffer(t *testing.T) {
	full, _ := permission.Preset("full")
	offer := BuiltIn().Offer(full)
	got, err := json.MarshalIndent(offer, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 12_000 {
		t.Errorf("the tools cost every request %d bytes", len(got))
	}
	const file = "testdata/offer.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("run the test with -update if this is meant:\n%s", diff)
	}
	for _, s := range offer {
		if strings.TrimSpace(s.Description) == "" {
			t.Errorf("%s has no description", s.Name)
		}
	}
}

func TestOnlyWhatCouldBeAllowedIsOffered(t *testing.T) {
	look := []string{"read", "list", "glob", "grep", "todowrite", "todoread"}
	tests := []struct {
		preset string
		change func(*stage)
		want   []string
	}{
		{"readonly", nil, look},
		{"review", nil, append([]string{"bash"}, look...)},
		{"edit", nil, []string{"read", "list", "glob", "grep", "edit", "write", "todowrite", "todoread"}},
		{"build", nil, []string{"bash", "read", "list", "glob", "grep", "edit", "write", "todowrite", "todoread"}},
		{"build", func(s *stage) { s.deny("bash", "*") }, []string{"read", "list", "glob", "grep", "edit", "write", "todowrite", "todoread"}},
		{"build", func(s *stage) { s.deny("*", "*") }, nil},
		{"build", func(s *stage) { s.deny("*", "*"); s.allow("edit", "docs/*") }, []string{"edit", "write"}},
	}
	for _, tt := range tests {
		s := setUp(t, tt.preset, nil)
		if tt.change != nil {
			tt.change(s)
		}
		if diff := cmp.Diff(tt.want, s.tools.Offered(s.env.Profile)); diff != "" {
			t.Errorf("%s: %s", tt.preset, diff)
		}
	}
}

func TestReadOnlyIsWhatChangesNothing(t *testing.T) {
	var got []string
	for _, name := range []string{"bash", "read", "list", "glob", "grep", "edit", "write", "todowrite", "todoread", "GREP", "unknown"} {
		if BuiltIn().ReadOnly(name) {
			got = append(got, name)
		}
	}
	if want := []string{"read", "list", "glob", "grep", "todoread", "GREP"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
