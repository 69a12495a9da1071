//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestProbeLeavesNothing(t *testing.T) {
	early := func(ctx context.Context, dir string) Found {
		var rest sync.WaitGroup
		f := ProbeEarly(ctx, dir, &rest)
		rest.Wait()
		return f
	}
	for name, probe := range map[string]func(context.Context, string) Found{"complete": Probe, "early": early} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := probe(t.Context(), dir)
			t.Logf("%+v", f)
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("left: %v, %v", entries, err)
			}
			if f.Best != Full && len(f.Missing) == 0 {
				t.Error("it doesn't say what is missing")
			}
		})
	}
}

// A busy machine keeps its level; a definite refusal is not retried.
func TestProbeRetriesUnderLoad(t *testing.T) {
	busy := []error{
		unix.EAGAIN, unix.ENOMEM, unix.ENOSPC, unix.EMFILE, ErrLost, context.DeadlineExceeded,
		fmt.Errorf("%w: %w", ErrRefused, parseRefusal(fmt.Sprintf("%d mount a fresh proc: cannot allocate memory", unix.ENOMEM))),
	}
	refusals := []error{
		unix.EPERM, unix.ENOSYS, ErrAbsent, &os.PathError{Op: "fork/exec", Err: unix.EPERM},
		fmt.Errorf("%w: %w", ErrRefused, parseRefusal(fmt.Sprintf("%d mount a fresh proc: operation not permitted", unix.EPERM))),
	}
	for _, fails := range []int{0, 1, 2, 3} {
		for _, failure := range slices.Concat(busy, refusals) {
			tries := map[Level]int{}
			p := prober{deadlines: []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour}}
			f := p.probe(t.Context(), func(ctx context.Context, level Level) error {
				tries[level]++
				if left, ok := ctx.Deadline(); !ok || time.Until(left) < time.Duration(tries[level])*time.Hour-time.Minute {
					t.Errorf("try %d ends at %v", tries[level], left)
				}
				if level == Full && tries[level] <= fails {
					return failure
				}
				return nil
			})
			want, asked := Full, fails+1
			if refused := slices.Contains(refusals, failure); refused && fails > 0 {
				want, asked = Partial, 1
			} else if fails == 3 {
				want, asked = Partial, 3
			}
			if f.Best != want || tries[Full] != asked {
				t.Errorf("%v, %d times: level %s after %d tries, want %s after %d", failure, fails, f.Best, tries[Full], want, asked)
			}
			warning := f.State(f.Best).Warning
			if said := strings.Contains(warning, "(no level A: "+failure.Error()); said != (want == Partial) {
				t.Errorf("%v, %d times: warning %q", failure, fails, warning)
			}
		}
	}
}

// Each attempt has a timeout, and a probe ends with its context.
func TestAProbeEndsWithItsTimeoutOrItsContext(t *testing.T) {
	dir := t.TempDir()
	var rest sync.WaitGroup
	defer rest.Wait()
	p := prober{deadlines: []time.Duration{1, 2, 3}}
	f := p.probe(t.Context(), func(ctx context.Context, level Level) error {
		<-ctx.Done()
		return try(ctx, dir, level, &rest)
	})
	if f.Best != None || len(f.Missing) != 2 || !strings.Contains(f.Missing[0].What, "timed out after 3ns (tried 3 times)") {
		t.Errorf("%+v", f)
	}
	ctx, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	if f := Probe(ctx, dir); f.Best != None || f.Missing[0].What != "enough" {
		t.Errorf("%+v", f)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestChoose(t *testing.T) {
	full, partial, none := Found{Best: Full}, Found{Best: Partial, Missing: []Missing{{Full, "no luck", "try again"}}}, Found{Best: None, Missing: []Missing{{Full, "no luck", "try again"}, {Partial, "none either", ""}}}
	tests := []struct {
		mode  Mode
		shell bool
		found Found
		want  Level
		err   bool
	}{
		{Auto, true, full, Full, false},
		{Auto, true, partial, Partial, false},
		{Auto, true, none, None, true},
		{Auto, false, none, None, false},
		{Require, true, full, Full, false},
		{Require, true, partial, None, true},
		{Require, false, none, None, true},
		{External, true, none, Outside, false},
		{Off, true, full, None, false},
	}
	for _, tt := range tests {
		got, err := Choose(tt.mode, tt.shell, tt.found)
		if got != tt.want || errors.Is(err, ErrAbsent) != tt.err {
			t.Errorf("%s with %s, shell %t: got %s, %v", tt.mode, tt.found.Best, tt.shell, got, err)
		}
	}
	_, err := Choose(Auto, true, none)
	for _, text := range []string{"no luck", "try again", "none either", "external"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q doesn't say %q", err, text)
		}
	}
	if _, err := Choose("x", true, full); err == nil {
		t.Error("a mode that doesn't exist is taken")
	}
}

func TestAMissingFeatureHasAFix(t *testing.T) {
	new := facts{major: 6, minor: 8, landlock: 4}
	with := func(change func(*facts)) facts { f := new; change(&f); return f }
	tests := []struct {
		level Level
		err   error
		facts facts
		want  string
	}{
		{Full, unix.EPERM, with(func(f *facts) { f.apparmor = "1" }), "apparmor_restrict"},
		{Full, unix.EPERM, with(func(f *facts) { f.apparmor, f.root = "1", true }), "container"},
		{Full, unix.EPERM, with(func(f *facts) { f.clone = "0" }), "unprivileged_userns_clone"},
		{Full, unix.ENOSPC, with(func(f *facts) { f.maxUser = "0" }), "max_user_namespaces"},
		{Full, errors.New("prepare /proc: mount a fresh proc: operation not permitted"), new, "systempaths"},
		{Full, unix.ENOSYS, with(func(f *facts) { f.major = 4 }), "too old"},
		{Partial, ErrAbsent, with(func(f *facts) { f.landlock = 0 }), "lsm="},
		{Partial, unix.EIO, new, ""},
	}
	for _, tt := range tests {
		if got := fixFor(tt.level, tt.err, tt.facts); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s, %v, %+v: %q", tt.level, tt.err, tt.facts, got)
		}
	}
}

func TestAToolchainHasItsVariableUnlessTheUserSetIt(t *testing.T) {
	home := t.TempDir()
	for _, d := range []string{"/.pyenv", "/.cargo", "/go/bin"} {
		if err := os.MkdirAll(home+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := Toolchains(home, "/usr/bin:relative:"+home+"/.cargo/bin:"+home+":/:")
	if want := []string{"/usr/bin", home + "/.cargo/bin", home + "/.pyenv", home + "/go/bin"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := ToolchainEnv(home, nil), []string{"PYENV_ROOT=" + home + "/.pyenv"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := ToolchainEnv(home, []string{"PYENV_ROOT=/opt/pyenv"}); got != nil {
		t.Errorf("a variable of the user is replaced: %v", got)
	}
	if got := ToolchainEnv("", nil); got != nil {
		t.Errorf("got %v without a home", got)
	}
}

func TestToolchainsIncludeTheLibrariesOfPrograms(t *testing.T) {
	home, tools := t.TempDir(), t.TempDir()
	for _, d := range []string{"/node/bin", "/node/lib", "/node/docs", "/go/bin", "/go/src/runtime", "/go/pkg", "/go/lib", "/x/sbin", "/x/lib"} {
		if err := os.MkdirAll(tools+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(home+"/lib", 0o755); err != nil {
		t.Fatal(err)
	}
	got := Toolchains(home, strings.Join([]string{tools + "/node/bin", tools + "/go/bin", tools + "/x/sbin", home + "/bin"}, ":"))
	want := []string{tools + "/node/bin", tools + "/node/lib", tools + "/go/bin", tools + "/go", tools + "/x/sbin", home + "/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWithout(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/a/x", "/a/y/z", "/b"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"/f", "/a/g"} {
		if err := os.WriteFile(dir+file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for hidden, want := range map[string]string{
		"/none": "/a /b /f=", "": "-", "/../elsewhere": "", "/b": "/a /f=", "/a/y": "/a/g= /a/x /b /f=", "/a/y/z": "/a/g= /a/x /b /f=",
	} {
		var got []string
		for _, e := range without(dir, []string{filepath.Clean(dir + hidden)}) {
			name := strings.TrimPrefix(e.path, dir)
			if e.file {
				name += "="
			}
			got = append(got, name)
		}
		text := strings.Join(got, " ")
		if hidden == "" && text == "" {
			text = "-"
		}
		if text != want {
			t.Errorf("without %q: %q, want %q", hidden, text, want)
		}
	}
}

// BenchmarkCommand measures a command at each level, and one without a
// sandbox.
func BenchmarkCommand(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			p, err := os.StartProcess("/bin/bash", []string{"bash", "-c", "true"}, &os.ProcAttr{Env: []string{}})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	for _, level := range []Level{Full, Partial} {
		b.Run(string(level), func(b *testing.B) {
			s, err := New(Spec{Workspace: b.TempDir(), Home: b.TempDir(), TmpDir: b.TempDir()}, level)
			if err != nil {
				b.Skip(err)
			}
			defer s.Close()
			for b.Loop() {
				l, err := s.Launch([]string{"/bin/bash", "-c", "true"}, nil, "/usr")
				if err != nil {
					b.Fatal(err)
				}
				p, err := l.Start([3]*os.File{null, null, null})
				if err != nil {
					b.Fatal(err)
				}
				_, err = p.Wait()
				if _, ended := l.Ended(); errors.Join(err, ended) != nil {
					b.Fatal(err, ended)
				}
			}
		})
	}
}
