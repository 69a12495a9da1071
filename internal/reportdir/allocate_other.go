//go:build !linux

package reportdir

import (
	"errors"
	"os"
)

func fallocate(*os.File, int64) error { return errors.ErrUnsupported }
