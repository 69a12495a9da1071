package rundir

import (
	"crypto/sha256"
	"encoding/hex"
)

// OutputsOf returns the name of the directory for a workspace's saved outputs.
func OutputsOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}
