package objectdb

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestRemoveStale(t *testing.T) {
	objects := t.TempDir()
	pack := filepath.Join(objects, "pack")
	must(t, os.MkdirAll(pack, 0o755))
	held, err := CreateTemp(pack, TempPack)
	must(t, err)
	defer held.Close()
	left := map[string]bool{}
	for dir, kind := range map[string]string{objects: TempObject, pack: TempIndex} {
		f, err := CreateTemp(dir, kind)
		must(t, err)
		must(t, f.Close()) // as if its process had been killed
		left[f.Name()] = false
	}
	tree, err := MkdirTemp(objects)
	must(t, err)
	defer tree.Close()
	gone, err := MkdirTemp(objects)
	must(t, err)
	must(t, gone.Close())
	must(t, os.Mkdir(filepath.Join(gone.Name(), "worktree"), 0o700))
	removed := TempTreeName(objects)
	must(t, os.Mkdir(removed, 0o700))
	left[gone.Name()], left[removed] = false, false
	for _, name := range []string{held.Name(), tree.Name(), filepath.Join(pack, "tmp_pack_Xy12"), filepath.Join(objects, "tmp_obj_millhand")} {
		left[name] = true // in use, and those of git and others
	}
	for name, stays := range left {
		if stays && name != held.Name() && name != tree.Name() {
			must(t, os.WriteFile(name, nil, 0o644))
		}
	}
	other := filepath.Join(objects, TempTree+"1")
	must(t, os.Mkdir(other, 0o700))
	left[other] = true
	must(t, os.Symlink(held.Name(), filepath.Join(pack, TempPack+ours+"symlink")))
	if n := RemoveStale(objects); n != 4 {
		t.Errorf("%d files removed", n)
	}
	for name, stays := range left {
		if _, err := os.Lstat(name); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := RemoveStale(filepath.Join(objects, "missing")); n != 0 {
		t.Errorf("%d files removed", n)
	}
}

// TestRemoveStaleNeverRemovesAFileInUse creates files while others are removed.
func TestRemoveStaleNeverRemovesAFileInUse(t *testing.T) {
	objects := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(objects, "pack"), 0o755))
	stop := make(chan struct{})
	var removing sync.WaitGroup
	removing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				RemoveStale(objects)
			}
		}
	})
	for range 500 {
		f, err := CreateTemp(objects, TempObject)
		must(t, err)
		if err := os.Rename(f.Name(), filepath.Join(objects, "named")); err != nil {
			t.Error(err)
		}
		must(t, f.Close())
		dir, err := MkdirTemp(objects)
		must(t, err)
		if err := os.Mkdir(filepath.Join(dir.Name(), "worktree"), 0o700); err != nil {
			t.Error(err)
		}
		must(t, os.RemoveAll(dir.Name()))
		must(t, dir.Close())
	}
	close(stop)
	removing.Wait()
}
