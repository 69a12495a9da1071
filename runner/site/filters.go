package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
)

// The limits of one run of a filter.
const (
	filterTime   = 2 * time.Minute
	filterOutput = 100 << 20 // bytes
	filterErrors = 1 << 10   // bytes of its standard error in messages
)

// filters returns the filters of the job's tree. Their commands are the user's, and run
// in the sandbox of the task's commands: they can be scripts of the repository.
func (b *Sandboxes) filters(ctx context.Context) content.Filters {
	ctx = context.WithoutCancel(ctx) // changes are collected whatever happens
	return content.Filters{
		Clean: func(command, _ string, content []byte) ([]byte, error) {
			return b.clean(ctx, command, content)
		},
		Pushed: b.site.job.Spec.Publish.Pushes(),
	}
}

// clean runs a clean command on a content.
func (b *Sandboxes) clean(ctx context.Context, command string, content []byte) ([]byte, error) {
	box, end := b.Needed()
	if end != nil {
		return nil, errors.New(end.Detail)
	}
	dir, err := files.MakeTemp(proc.Value(box.Env, "TMPDIR"), "millhand-filter-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir.Path())
	defer dir.Close()
	input, fault := filepath.Join(dir.Path(), "input"), filepath.Join(dir.Path(), "errors.txt")
	if err := dir.WriteNew("input", content); err != nil {
		return nil, err
	}
	var out limitedBuffer
	res, err := proc.Run(ctx, proc.Command{
		Args: []string{"bash", "-c", `exec sh -c "$1" <"$2" 2>"$3"`, "bash", command, input, fault},
		Dir:  b.site.Space.Dir(), Env: box.Env, Timeout: filterTime, Output: &out, Confine: box.Confine(), Disk: box.Disk(),
	})
	switch {
	case err != nil:
		return nil, err
	case res.TimedOut:
		return nil, fmt.Errorf("command timed out after %s", filterTime)
	case res.ExitCode != 0:
		var text []byte
		if f, err := dir.Read("errors.txt"); err == nil { // missing means none
			defer f.Close()
			text, _ = io.ReadAll(io.LimitReader(f, filterErrors)) // an unreadable one, too
		}
		return nil, fmt.Errorf("exit code %d: %s", res.ExitCode, textcut.OneLine(string(text)))
	}
	return out.Bytes(), out.err
}

// limitedBuffer fails a command that prints more than filterOutput bytes.
type limitedBuffer struct {
	bytes.Buffer
	err error
}

func (b *limitedBuffer) Write(data []byte) (int, error) {
	if b.Len()+len(data) > filterOutput {
		b.err = errors.New("too much output")
		return 0, b.err
	}
	return b.Buffer.Write(data)
}
