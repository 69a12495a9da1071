package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest returns the SHA-256 of values as JSON, in hexadecimal. The values are
// strings, numbers, and lists, maps and structs of them, all of which JSON can
// hold.
func Digest(values ...any) string {
	data, _ := json.Marshal(values)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
