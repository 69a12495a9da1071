package runner

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
)

// writeOutput writes the job's final message, also that of a failed job, to the file of
// the task, and returns its path; "" without a file or a message. It follows no symlinks:
// commands may have created some since the manifest was read.
func (j *job) writeOutput(r *result) (file string, failed *stop) {
	to := j.spec.Output
	if to.Path == "" || r.final == "" && len(r.output) == 0 {
		return "", nil
	}
	text := []byte(j.opts.Redact.Text(strings.TrimRight(r.final, "\n") + "\n"))
	if len(r.output) > 0 {
		text = append(j.opts.Redact.JSON(r.output), '\n')
	}
	dir, err := files.Make(to.Dir, path.Dir(to.Path), false)
	if err == nil {
		defer dir.Close()
		err = dir.WriteAtomic(path.Base(to.Path), func(out io.Writer) error {
			_, err := out.Write(text)
			return err
		})
	}
	if err != nil { // fails also a job whose branch is published: what the user asked for is missing
		return "", &stop{code: event.CodeFailed, detail: fmt.Sprintf("write the final message to %s: %v", to.Path, err)}
	}
	return to.Path, nil
}
