package content

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
)

// The limits of one run of a filter.
const (
	filterTime   = 2 * time.Minute
	filterOutput = 100 << 20 // bytes
	filterErrors = 1 << 10   // bytes of its standard error in messages
)

// clean runs a clean command on a content.
func (f Filters) clean(command string, content []byte) ([]byte, error) {
	if f.Command == nil {
		return nil, errors.New("it was not in git's configuration when the job started; run the job again")
	}
	run := *f.Command
	dir, err := files.MakeTemp(proc.Value(run.Env, "TMPDIR"), "millhand-filter-*")
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
	run.Args = []string{"bash", "-c", `exec sh -c "$1" <"$2" 2>"$3"`, "bash", command, input, fault}
	run.Timeout, run.Output = filterTime, &out
	res, err := proc.Run(f.Context, run)
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
