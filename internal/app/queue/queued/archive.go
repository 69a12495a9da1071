package queued

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/queue"
	"github.com/millhand/millhand/internal/files"
)

// packed are the directories of a report directory whose files a worker stores.
var packed = []string{"patches", "sessions", "outputs"}

// maxUnpacked limits the files of a job, in bytes.
const maxUnpacked = 4 << 30

// maxPadding limits the zeros after the last file, in bytes.
const maxPadding = 64 << 10

// Pack returns the files below a report directory that its reports refer to; nil for none. It resets
// the writer, which can be used again: a new one allocates most of a megabyte.
func Pack(dir string, compressed *gzip.Writer) ([]byte, error) {
	var buffer bytes.Buffer
	compressed.Reset(&buffer)
	archive := tar.NewWriter(compressed)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) { // the job was not run
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	empty := true
	for _, name := range packed {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, entry os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			empty = false
			return packFile(archive, root, rel)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil || empty {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func packFile(archive *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(archive, f, info.Size())
	return err
}

// Unpack writes packed files below a directory.
func Unpack(data []byte, dir *files.Dir) error {
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: read an archive of a job's files: %w", queue.ErrInvalid, err)
	}
	archive, left := tar.NewReader(compressed), int64(maxUnpacked)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return atEnd(compressed)
		}
		if err != nil {
			return fmt.Errorf("%w: read an archive of a job's files: %w", queue.ErrInvalid, err)
		}
		top, _, _ := strings.Cut(header.Name, "/")
		left -= header.Size + 1<<10 // files without content are not free
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) || !slices.Contains(packed, top) || left < 0 {
			return fmt.Errorf("%w: read an archive of a job's files: invalid entry %q", queue.ErrInvalid, header.Name)
		}
		f, err := dir.Create(header.Name)
		if err != nil {
			return err
		}
		buffered := bufio.NewWriter(f)
		if _, err = io.Copy(buffered, entry{archive}); err == nil {
			err = buffered.Flush()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// atEnd checks what follows the last file: nothing but zeros, and the checksum, which [tar.Reader] leaves unread.
func atEnd(compressed *gzip.Reader) error {
	rest := make([]byte, 1<<10)
	for total := 0; ; {
		n, err := compressed.Read(rest)
		switch total += n; {
		case bytes.ContainsFunc(rest[:n], func(r rune) bool { return r != 0 }) || total > maxPadding:
			return fmt.Errorf("%w: read an archive of a job's files: data after the last file", queue.ErrInvalid)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: read an archive of a job's files: %w", queue.ErrInvalid, err)
		}
	}
}

// entry is a file of an archive. Its errors are those of the archive.
type entry struct{ io.Reader }

// Read implements [io.Reader].
func (e entry) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: read an archive of a job's files: %w", queue.ErrInvalid, err)
	}
	return n, err
}
