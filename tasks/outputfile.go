package tasks

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// OutputBelow returns a file below a directory, for a command line that is limited as a manifest is.
func OutputBelow(dir, name string) (OutputFile, error) {
	if fault := OutputFault(dir, name); fault != "" {
		return OutputFile{}, fmt.Errorf("invalid output file %q; %s", name, fault)
	}
	return OutputFile{Dir: dir, Path: path.Clean(name)}, nil
}

// OutputFault returns the fix for an invalid output file, "" for a valid one.
func OutputFault(dir, name string) string {
	if !filepath.IsLocal(name) || path.Clean(name) == "." || strings.HasSuffix(name, "/") {
		return "write the path of a file below the manifest's directory, for example report.md"
	}
	at := dir
	names := strings.Split(path.Clean(name), "/")
	for i, entry := range names {
		if strings.EqualFold(entry, ".git") {
			return "choose a path outside of .git"
		}
		at = filepath.Join(at, entry)
		info, err := os.Lstat(at)
		switch last := i == len(names)-1; {
		case err != nil: // does not exist, or the run will report it
		case info.Mode()&os.ModeSymlink != 0:
			return at + " is a symlink: choose a path without one"
		case info.IsDir() == last:
			return at + " exists: choose another path"
		case last && !info.Mode().IsRegular():
			return at + " is not a regular file: choose another path"
		}
	}
	return ""
}

// OutputFile is the file that a job's final message is written to. The zero value is no file.
type OutputFile struct {
	Dir  string // of the manifest, absolute
	Path string // below Dir, slash separated
	Own  string `json:",omitempty"` // of the user's command line instead: any absolute path; "" for none
}
