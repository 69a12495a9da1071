package confinement

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// cacheFiles creates files with a number of bytes each.
func cacheFiles(t *testing.T, dir string, size int, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLargeFilesOfACacheAreSymlinkedAndSmallOnesCopied(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	cacheFiles(t, from, 5000, "a/large", "skipped/x")
	cacheFiles(t, from, 10, "a/small")
	n, err := symlinkFiles(from, to, []string{"skipped"}, 10)
	if err != nil || n != 2 {
		t.Errorf("%d files, %v", n, err)
	}
	if target, err := os.Readlink(filepath.Join(to, "a/large")); err != nil || target != filepath.Join(from, "a/large") {
		t.Errorf("%q, %v", target, err)
	}
	if info, err := os.Lstat(filepath.Join(to, "a/small")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "skipped")); !os.IsNotExist(err) {
		t.Errorf("a directory that may have credentials: %v", err)
	}
	if n, err := symlinkFiles(from, filepath.Join(to, "again"), nil, 2); err != nil || n != 3 {
		t.Errorf("more files than permitted: %d, %v", n, err)
	}
}

// TestCachesAreSharedAsTheMachinePermits: the caches of another user, whose files the
// commands can't change in an overlay, are symlinks at level A, too.
func TestCachesAreSharedAsTheMachinePermits(t *testing.T) {
	if sandbox.Probe(t.Context(), t.TempDir()).Best != sandbox.Full {
		t.Skip("level A is not supported here")
	}
	for _, others := range []bool{false, true} {
		if others && os.Geteuid() != 0 {
			continue
		}
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			dir := t.TempDir()
			home, users := filepath.Join(dir, "user"), filepath.Join(dir, "user/.npm/_cacache")
			cacheFiles(t, users, 5000, "content-v2/x")
			cacheFiles(t, dir, 2, "work/package-lock.json")
			if others {
				if err := os.Chown(users, 65534, 65534); err != nil {
					t.Fatal(err)
				}
			}
			g := Env{
				Level:  sandbox.Full,
				Dirs:   Dirs{Workspace: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home"), Tmp: filepath.Join(dir, "tmp"), Caches: filepath.Join(dir, "caches")},
				Rules:  Rules{Profile: permission.Profile{Cache: []string{permission.AutoCache}}, Limits: tasks.DefaultLimits()},
				Now:    time.Now,
				Getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
			}
			if err := g.Prepare(); err != nil {
				t.Fatal(err)
			}
			c, err := Open(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			own := filepath.Join(g.Caches, "own/npm_config_cache")
			if !slices.Contains(c.Env, "npm_config_cache="+own) || len(c.caches) != 1 {
				t.Errorf("%+v, %v", c.caches, c.Env)
			}
			linked := own + "/_cacache"
			if others {
				linked += "/content-v2/x"
			}
			if target, err := os.Readlink(linked); err != nil || others == (target == users) {
				t.Errorf("%s: %q, %v", linked, target, err)
			}
			if got := len(c.caches[0].stores) > 0; got == others {
				t.Errorf("an overlay: %v", got)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(g.Caches); !os.IsNotExist(err) {
				t.Errorf("the layers remain: %v", err)
			}
		})
	}
}

// Go splits GOPROXY at commas and bars, and decodes the path of each URL.
func TestModuleCacheIsOneEntryOfGOPROXY(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b,c|d%20#?")
	if err := os.CopyFS(filepath.Join(dir, "x.test/m/@v"), fstest.MapFS{
		"list": {Data: []byte("v1.2.3\n")}, "v1.2.3.mod": {Data: []byte("module x.test/m\n")}, "v1.2.3.info": {Data: []byte(`{"Version": "v1.2.3"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-versions", "x.test/m")
	list.Dir = t.TempDir()
	list.Env = append(os.Environ(), "GOPROXY="+fileProxy(dir)+",off", "GOFLAGS=", "GONOSUMDB=*", "GONOPROXY=", "GOPRIVATE=", "GOMODCACHE="+t.TempDir())
	if out, err := list.CombinedOutput(); err != nil || string(out) != "x.test/m v1.2.3\n" {
		t.Errorf("%s: %s, %v", fileProxy(dir), out, err)
	}
}
