package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the maximum length of a tool name that all providers accept.
const maxName = 64

// Names returns the names under which the tools of servers are offered, in the order of
// the tools: SERVER_TOOL, with other characters than letters, digits, _ and - replaced by
// _. A name that is too long, or that two tools would have if case is ignored, ends in a
// hash of the server's and the tool's name.
func Names(tools []Tool) []string {
	names := make([]string, len(tools))
	count := map[string]int{}
	for i, t := range tools {
		names[i] = strings.Map(plain, t.Server+"_"+t.Name)
		count[strings.ToLower(names[i])]++
	}
	for i, t := range tools {
		if len(names[i]) > maxName || count[strings.ToLower(names[i])] > 1 {
			sum := sha256.Sum256([]byte(t.Server + "/" + t.Name))
			suffix := "_" + hex.EncodeToString(sum[:4])
			names[i] = names[i][:min(len(names[i]), maxName-len(suffix))] + suffix
		}
	}
	return names
}

// plain returns a character that names of tools can have.
func plain(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}
