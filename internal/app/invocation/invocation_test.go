package invocation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

func TestARunIsResumedWithItsOwnFlags(t *testing.T) {
	then := &event.Run{Invocation: &event.Invocation{Args: []string{"m.yaml", "--model", "openai/a", "--jobs", "2"}}}
	for args, refused := range map[string]string{
		"":                              "",
		"--model openai/a":              "",
		"--jobs 8 --quiet --max-cost 3": "",
		"--model openai/b":              "--model is not one of them or has another value",
		"--sandbox off":                 "--sandbox is not one of them or has another value",
	} {
		now := *New()
		now.Invocation = &event.Invocation{Args: strings.Fields(args)}
		if err := SameFlags(now, then); (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: refused with %v, want %q", args, err, refused)
		}
	}
}

// The directory of a run has its manifests, and arguments replace them.
func TestResumedUsesTheDirectoryOfTheRun(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(own, load.UsualManifest), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		args, given []string
		want        []string
		in          string
	}{
		{"no argument", nil, nil, []string{load.UsualManifest}, own},
		{"an argument", []string{"a.yaml"}, nil, []string{"a.yaml"}, own},
		{"another argument now", nil, []string{"b.yaml"}, []string{"b.yaml"}, other},
		{"a prompt", []string{"-p", "Look."}, nil, nil, own},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(other)
			now := *New()
			now.Plan.Manifests = test.given
			got, err := Resumed(now, &event.Run{ID: "r", Invocation: &event.Invocation{Dir: own, Args: test.args}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Plan.Manifests); diff != "" {
				t.Error(diff)
			}
			if dir := got.Plan.In(world.World{Dir: other}); dir != test.in {
				t.Errorf("in %s, want %s", dir, test.in)
			}
			if dir, err := os.Getwd(); err != nil || dir != other {
				t.Errorf("the process is in %s, was in %s (%v)", dir, other, err)
			}
		})
	}
	if _, err := Resumed(*New(), &event.Run{Invocation: &event.Invocation{Dir: filepath.Join(own, "gone")}}); err == nil || !strings.Contains(err.Error(), "name its manifests") {
		t.Errorf("without its directory: %v", err)
	}
	if _, err := Resumed(*New(), &event.Run{}); err == nil {
		t.Error("a run without an invocation is resumed")
	}
}

func TestMistakesInTheUseOfOptions(t *testing.T) {
	for want, err := range map[string]error{
		"require --resume RUN":     (&Options{OnlyFailed: true}).Parse([]string{"m.yaml"}),
		"can't be combined with -": (&Options{Resume: "r", DryRun: true}).Parse(nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o := New()
	o.FailFast, o.Verbose = true, true
	if err := o.Parse([]string{"m.yaml"}); err != nil || o.MaxFailures != 1 || o.Log.Level != "debug" {
		t.Errorf("%v: %d failures, level %s", err, o.MaxFailures, o.Log.Level)
	}
}
