package proc

import (
	"errors"
	"os"
	"testing"
)

// A command in a sandbox that can't be started is not watched any more.
func TestNoteAfterAFailedStart(t *testing.T) {
	wrong, noted := errors.New("wrong"), 0
	_, err := Run(t.Context(), Command{Args: []string{"true"}, Confine: func([]string, []string, string) (*Confined, error) {
		return &Confined{
			Start: func([3]*os.File) (*os.Process, error) { return nil, wrong },
			Note:  func() string { noted++; return "" },
		}, nil
	}})
	if !errors.Is(err, wrong) || noted != 1 {
		t.Errorf("got %v, noted %d times", err, noted)
	}
}
