package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
)

// Files that evidence consists of, in the report directory.
const (
	EventsFile    = "events.jsonl"
	StatementFile = "evidence.intoto.json"
	SignatureFile = StatementFile + ".sig"
	EnvelopeFile  = "evidence.dsse.json" // the statement in an envelope, signed by the same key
	TestsFile     = "verify.intoto.json" // only of a run with verify commands
)

// Namespace is that of the signature, in the terms of ssh-keygen -Y.
const Namespace = "millhand-evidence"

// Outputs is the directory of outputs, which are removed after some time.
const Outputs = "outputs"

// covered lists the files and directories of a report directory that a seal names, except
// events.jsonl, which has the seal, and those that are made from it.
func covered() []string {
	return []string{"report.json", "junit.xml", "summary.md", "failed.txt", "report.html", "findings.sarif", TestsFile, "patches", "sessions", Outputs}
}

// hashFiles returns the covered files of a directory and others, in the order of their names.
func hashFiles(files fs.FS, others []string) ([]event.SealedFile, error) {
	names, err := NamesOf(files)
	if err != nil {
		return nil, err
	}
	names = append(names, others...)
	slices.Sort(names)
	all := []event.SealedFile{}
	for _, name := range names {
		f, err := HashFile(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// NamesOf returns the names of the covered files of a directory.
func NamesOf(files fs.FS) (names []string, err error) {
	for _, top := range covered() {
		err := fs.WalkDir(files, top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil || d.IsDir():
				return err
			case !d.Type().IsRegular():
				return fmt.Errorf("%s is not a regular file", name)
			}
			names = append(names, name)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// HashFile returns the hash and the size of a file, as a seal has them.
func HashFile(files fs.FS, name string) (event.SealedFile, error) {
	f, err := files.Open(name)
	if err != nil {
		return event.SealedFile{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return event.SealedFile{Name: name, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, err
}

// EventsOf describes the events of a report directory with a chain.
func EventsOf(files fs.FS, chain *event.Chain) (Events, error) {
	f, err := HashFile(files, EventsFile)
	return Events{Lines: chain.Lines(), Head: chain.Head(), SHA256: f.SHA256}, err
}

// IsOutput reports whether a file is removed after some time.
func IsOutput(name string) bool { return strings.HasPrefix(path.Clean(name), Outputs+"/") }
