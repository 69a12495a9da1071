package patch

import "errors"

// maxWork bounds what one Apply does, in comparisons of two lines: a second of
// them or two.
const maxWork = 1 << 27

// errWork is the error of a patch made to be slow, or of one that takes far too
// many places of a far too large file.
var errWork = errors.New("patch is too expensive to match; split it, or rewrite the file with an Add File section")

// work counts down what may still be done.
type work struct{ left int }

func newWork() *work { return &work{maxWork} }

func (w *work) spend(n int) error {
	if w.left -= n; w.left < 0 {
		return errWork
	}
	return nil
}
