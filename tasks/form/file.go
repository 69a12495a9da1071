package form

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/tasks/problem"
)

// Unreadable records that the file could not be read.
func (s *Source) Unreadable(err error) {
	if errors.Is(err, userfile.ErrTooLarge) {
		s.Found.Add(problem.Problem{File: s.Name, What: "the file exceeds 1 MiB", Fix: "split it into several"})
		return
	}
	fix := "check its path"
	if strings.Contains(s.Name, " ") && errors.Is(err, os.ErrNotExist) {
		fix += ", or write -p before it if it is a prompt"
	}
	s.Found.Add(problem.Problem{File: s.Name, What: userfile.Missing(err), Fix: fix})
}

// Inputs is what the files of one load share: standard input, which can be read
// once, and how much was read of lists.
type Inputs struct {
	Ctx     context.Context //nolint:containedctx // readers of values have no parameter for it
	Stdin   func() ([]byte, error)
	Taken   string // what standard input is read as; "" as long as it is not
	Ignored bool   // lists from standard input are passed over
	Lines   int
	Uses    *Uses // of this machine
}
