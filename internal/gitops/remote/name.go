package remote

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// MirrorName returns the name of the directory of a repository's mirror: another one for each depth of its history, 0
// for all of it.
func MirrorName(url string, depth int) string {
	_, path, found := strings.Cut(url, "://")
	if !found {
		path = url
	}
	name := DirName(strings.TrimSuffix(path, ".git"))
	const most = 80
	if len(name) > most {
		name = name[len(name)-most:]
	}
	name = fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(url)))
	name = name[:len(name)-2*sha256.Size+12]
	if depth > 0 {
		name += fmt.Sprintf("-depth%d", depth)
	}
	return name + ".git"
}

// DirName returns a plain directory name for a repository's name or URL.
func DirName(repo string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune("-._", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, repo), ".-")
}
