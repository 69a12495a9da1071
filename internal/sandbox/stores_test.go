//go:build linux

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/dev/nightly"
)

// withStore adds a store with a module, and directories that commands must not see.
func withStore(t *testing.T, p fixture) (Spec, Store) {
	t.Helper()
	if err := TryStore(t.Context(), p.dir); err != nil {
		t.Skipf("overlays can't be mounted here: %v", err)
	}
	s := Store{Dir: filepath.Join(p.outside, "store"), Layers: filepath.Join(p.dir, "layers"), Without: []string{"cache/vcs", "absent/x", "mod/secret1", "mod/secret2"}}
	if out := unguarded(t, p.dir, `mkdir layers && mkdir -p "$S/mod/a" "$S/cache/vcs" "$S/mod/secret1" "$S/mod/secret2" && echo user >"$S/mod/a/file" && echo gotcha >"$S/cache/vcs/config" && echo gotcha >"$S/../secret" && chmod -R a+rX "$S"`, "S="+s.Dir); out != "" {
		t.Fatal(out)
	}
	spec := p.spec()
	spec.Stores = []Store{s}
	return spec, s
}

// TestStoreIsReadOnlyBelowThePrivateLayer: commands of a job see what earlier ones wrote,
// and nobody else does.
func TestStoreIsReadOnlyBelowThePrivateLayer(t *testing.T) {
	for _, owner := range []int{0, 65534} {
		if owner != 0 && os.Geteuid() != 0 {
			continue
		}
		t.Run(strconv.Itoa(owner), func(t *testing.T) {
			p := newFixture(t)
			if err := os.Chown(p.workspace, owner, owner); err != nil && os.Geteuid() == 0 {
				t.Fatal(err)
			}
			spec, store := withStore(t, p)
			if os.Geteuid() == 0 {
				unguarded(t, store.Dir, fmt.Sprintf("chown -R %[1]d:%[1]d .", owner))
			}
			before := unguarded(t, store.Dir, "find . -printf '%p %m %s %T@\n' | sort; cat mod/a/file")
			mine := inside(t, spec, Full)
			steps := []struct{ line, want string }{
				{"cat $S/mod/a/file; cat $S/cache/vcs/config 2>&1; ls $S; ls -A $S/..", "user\ncat: S/cache/vcs/config: No such file or directory\nabsent\ncache\nmod\nstore\n"},
				{"ls $S/mod; mkdir $S/mod/secret1 && mv $S/mod/secret1 $S/mod/secret2 && ls $S/mod && rmdir $S/mod/secret2", "a\na\nsecret2\n"},
				{"mkdir $S/mod/b && echo job >$S/mod/b/file && mkdir $S/cache/vcs && echo own >$S/cache/vcs/config", ""},
				{"cat $S/mod/b/file $S/cache/vcs/config", "job\nown\n"},
				{"echo job >$S/mod/a/file && chmod 600 $S/mod/a/file && cat $S/mod/a/file", "job\n"},
				{"rm -r $S/mod/a && ls $S/mod", "b\n"},
				{"ls -A " + store.Layers + " 2>&1", "ls: cannot access 'LAYERS': No such file or directory\n"},
			}
			for _, step := range steps {
				got := bash(t, mine, step.line, "S="+store.Dir)
				if text := strings.NewReplacer(store.Dir, "S", store.Layers, "LAYERS").Replace(got.output); got.err != nil || text != step.want {
					t.Errorf("%s: %q, %v", step.line, text, got.err)
				}
			}
			other := spec
			other.Stores = []Store{{Dir: store.Dir, Layers: filepath.Join(p.dir, "layers2")}}
			if err := os.Mkdir(other.Stores[0].Layers, 0o700); err != nil {
				t.Fatal(err)
			}
			if got := bash(t, inside(t, other, Full), "ls $S/mod; cat $S/mod/a/file", "S="+store.Dir); got.output != "a\nsecret1\nsecret2\nuser\n" {
				t.Errorf("another job: %q, %v", got.output, got.err)
			}
			if after := unguarded(t, store.Dir, "find . -printf '%p %m %s %T@\n' | sort; cat mod/a/file"); after != before {
				t.Errorf("the store was changed:\n%s\nfrom\n%s", after, before)
			}
		})
	}
}

// TestConcurrentCommandsWriteToOneStore: each gets a layer, and later commands see all of
// them.
func TestConcurrentCommandsWriteToOneStore(t *testing.T) {
	spec, store := withStore(t, newFixture(t))
	s := inside(t, spec, Full)
	const commands = 4
	var all sync.WaitGroup
	for n := range commands {
		all.Go(func() {
			line := fmt.Sprintf("touch $TMPDIR/%d; until test $(ls $TMPDIR | wc -l) = %d; do sleep 0.01; done; for i in $(seq 20); do mkdir -p $S/new/d$i && echo %d >$S/new/d$i/%d && echo x >$S/mod/a/x%d; done", n, commands, n, n, n)
			var out bytes.Buffer
			cmd, l := start(t, s, &out, []string{"S=" + store.Dir}, s.bounds.Workspace, "bash", "-c", line)
			if end, err := finish(t, cmd, l); err != nil || end.ExitCode != 0 {
				t.Errorf("%+v, %v: %s", end, err, out.String())
			}
		})
	}
	all.Wait()
	got := bash(t, s, "ls $S/new | wc -l; cat $S/new/*/* | sort | uniq -c | tr -s ' '; ls $S/mod/a", "S="+store.Dir)
	if want := "20\n 20 0\n 20 1\n 20 2\n 20 3\nfile\nx0\nx1\nx2\nx3\n"; got.output != want || got.err != nil {
		t.Errorf("%q, %v", got.output, got.err)
	}
}

// TestMoreCommandsThanLayersAreRefused: they get no layer of another command.
func TestMoreCommandsThanLayersAreRefused(t *testing.T) {
	spec, _ := withStore(t, newFixture(t))
	s := inside(t, spec, Full)
	const layers = 12
	ended := make(chan error, layers)
	var launched []*Launch
	for range layers {
		cmd, l := start(t, s, &bytes.Buffer{}, nil, s.bounds.Workspace, "sh", "-c", "mktemp -p .; sleep 600")
		launched = append(launched, l)
		go func() {
			_, err := cmd.Wait()
			ended <- err
		}()
	}
	for running := 0; running < layers; {
		names, err := filepath.Glob(filepath.Join(spec.Workspace, "tmp.*"))
		if err != nil {
			t.Fatal(err)
		}
		running = len(names)
		select {
		case err := <-ended:
			t.Fatalf("a command ended early: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if got := bash(t, s, "true"); got.err == nil || !strings.Contains(got.err.Error(), "more than 12 commands at a time") {
		t.Errorf("%+v", got)
	}
	for _, l := range launched {
		l.Kill()
		<-ended
		l.Ended()
	}
	if got := bash(t, s, "true"); got.err != nil {
		t.Error(got.err)
	}
}

// TestStoreIsWrittenWhileJobsRun: the user's own tools change the store while jobs use it.
// Each job sees complete files, its own changes, and none of another job.
func TestStoreIsWrittenWhileJobsRun(t *testing.T) {
	p := newFixture(t)
	spec, store := withStore(t, p)
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			dir := filepath.Join(store.Dir, "mod", fmt.Sprint("new", n%50))
			if os.RemoveAll(dir) != nil || os.MkdirAll(dir, 0o755) != nil ||
				os.WriteFile(filepath.Join(dir, ".tmp"), bytes.Repeat([]byte("x"), 9999), 0o644) != nil ||
				os.Rename(filepath.Join(dir, ".tmp"), filepath.Join(dir, "file")) != nil {
				t.Error("the writer failed")
				return
			}
		}
	})
	for n := range nightly.Count(5, 100, 1000) {
		layers := filepath.Join(p.dir, fmt.Sprint("layers", n))
		if err := os.Mkdir(layers, 0o700); err != nil {
			t.Fatal(err)
		}
		spec := spec
		spec.Stores = []Store{{Dir: store.Dir, Layers: layers}}
		s := inside(t, spec, Full)
		line := `for i in 1 2 3 4 5; do wc -c $S/mod/new*/file 2>/dev/null | awk '$2 != "total" && $1 != 9999'; echo $N >$S/mod/a/job$i; done; cat $S/mod/a/job* | sort | uniq -c | tr -s ' '; cat $S/mod/a/file`
		if got := bash(t, s, line, "S="+store.Dir, fmt.Sprint("N=", n)); got.err != nil || got.output != fmt.Sprintf(" 5 %d\nuser\n", n) {
			t.Errorf("job %d: %q, %v", n, got.output, got.err)
		}
	}
	close(stop)
	writer.Wait()
	if names, err := filepath.Glob(filepath.Join(store.Dir, "mod/a/job*")); err != nil || len(names) > 0 {
		t.Errorf("jobs wrote %v into the store, %v", names, err)
	}
}
