package runner

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/runner/ending"
)

// writeOutput writes the job's final message, also that of a failed job, to the file of
// the task, and returns its path; "" without a file or a message.
func (j *job) writeOutput(ctx context.Context, r *ending.Result) (file string, failed *ending.Stop) {
	to := j.Spec.Output
	if to.Path == "" || r.Final == "" && len(r.Output) == 0 {
		return "", nil
	}
	text := []byte(j.opts.Redact.Text(strings.TrimRight(r.Final, "\n") + "\n"))
	if len(r.Output) > 0 {
		text = append(j.opts.Redact.JSON(r.Output), '\n')
	}
	code, err := event.CodeFailed, error(nil)
	if to.Own != "" {
		ctx, done := ending.UntilHurried(ctx)
		defer done()
		code, err = event.CodeInternal, files.Own(to.Own).Write(ctx, text)
	} else if err = writeBelow(to.Dir, to.Path, text); files.IsFull(err) {
		code = event.CodeInternal
	}
	if err != nil { // fails also a job whose branch is published: what the user asked for is missing
		return "", &ending.Stop{Code: code, Detail: fmt.Sprintf("write the final message to %s: %v; report.json has it", to.Path, files.Reason(err))}
	}
	return to.Path, nil
}

// writeBelow writes a file below a directory. It follows no symlinks: commands may have created some since the
// manifest was read.
func writeBelow(dir, name string, text []byte) error {
	d, err := files.Make(dir, path.Dir(name), false)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Write(path.Base(name), text, 0o644)
}
