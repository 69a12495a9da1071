package gitdir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Filter is a filter driver of git's configuration (gitattributes, "filter").
type Filter struct {
	Name     string
	Clean    string // command of the machine's or user's configuration; "" for none
	Process  string // the same for a filter that runs for several files
	Required bool
	Foreign  bool // the repository's own configuration defines other commands
}

// Filter returns the filter driver with a name. Its commands are those of the machine's
// and the user's configuration, never of the repository's.
func (files ConfigFiles) Filter(name string) Filter {
	own, local := files[:len(files)-1], files[len(files)-1:]
	f := Filter{Name: name, Clean: own.last(name, "clean"), Process: own.last(name, "process")}
	if required := files.Values("filter", name, "required"); len(required) > 0 {
		f.Required = isTrue(required[len(required)-1])
	}
	f.Foreign = slices.ContainsFunc([][2]string{{"clean", f.Clean}, {"process", f.Process}}, func(c [2]string) bool {
		defined := local.last(name, c[0])
		return defined != "" && defined != c[1]
	})
	return f
}

// Cleans reports whether the machine's or the user's configuration has a clean command that is run: those of Git LFS are not.
func (files ConfigFiles) Cleans() bool {
	return slices.ContainsFunc(files[:len(files)-1].subsections("filter"), func(name string) bool {
		f := files.Filter(name)
		return f.Clean != "" && !f.LFS()
	})
}

// last returns the value of a filter's key that counts; "" for none.
func (files ConfigFiles) last(filter, key string) string {
	values := files.Values("filter", filter, key)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// LFS reports whether it is the filter of Git LFS.
func (f Filter) LFS() bool {
	return f.Clean == "" && f.Process == "" && f.Name == "lfs" || f.runsLFS()
}

// runsLFS reports whether its command is the program git-lfs.
func (f Filter) runsLFS() bool {
	return strings.HasPrefix(f.Clean, "git-lfs ") || strings.HasPrefix(f.Clean, "git lfs ") || strings.HasPrefix(f.Process, "git-lfs ")
}

// LFSStorage returns a directory, and the path in it of the directory of files of Git LFS. Only the machine's and the user's
// configuration may name another directory than the git directory.
func (d *Dir) LFSStorage() (root, below string, err error) {
	own, local := d.Config[:len(d.Config)-1].Values("lfs", "", "storage"), d.Config[len(d.Config)-1:].Values("lfs", "", "storage")
	switch {
	case len(local) > 0 && !filepath.IsLocal(local[len(local)-1]):
		return "", "", fmt.Errorf("lfs.storage %q of the repository's own git configuration leads out of its git directory: set it in the user's (git config --global)", local[len(local)-1])
	case len(local) > 0:
		return d.Common, local[len(local)-1], nil
	case len(own) == 0:
		return d.Common, "lfs", nil
	}
	storage := own[len(own)-1]
	if !filepath.IsAbs(storage) {
		storage = filepath.Join(d.Common, storage)
	}
	return storage, ".", nil
}

// Sparse reports whether the work tree is a sparse checkout.
func (files ConfigFiles) Sparse() bool { return files.boolean("core", "sparsecheckout", false) }
