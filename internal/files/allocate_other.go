//go:build !linux

package files

import (
	"errors"
	"os"
)

func fallocate(*os.File, int64) error { return errors.ErrUnsupported }
