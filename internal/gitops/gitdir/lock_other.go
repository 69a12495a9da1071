//go:build !linux

package gitdir

import (
	"errors"
	"os"
)

func createWith(string, []byte) (*os.File, error) { return nil, errors.ErrUnsupported }
