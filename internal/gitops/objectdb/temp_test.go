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
	for _, name := range []string{held.Name(), filepath.Join(pack, "tmp_pack_Xy12"), filepath.Join(objects, "tmp_obj_millhand")} {
		left[name] = true // in use, and those of git and others
	}
	for name, stays := range left {
		if stays && name != held.Name() {
			must(t, os.WriteFile(name, nil, 0o644))
		}
	}
	must(t, os.Symlink(held.Name(), filepath.Join(pack, TempPack+ours+"symlink")))
	if n := RemoveStale(objects); n != 2 {
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
	}
	close(stop)
	removing.Wait()
}
