package remote

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// PushURL returns the URL that a remote of the repository is pushed to, as git finds
// it in the configuration: pushurl, else url, rewritten by url.*.pushInsteadOf
// and url.*.insteadOf. A relative path is made absolute. The configuration is
// read when the repository is opened: what an agent writes later has no effect.
// The error matches ErrNoRemote.
func PushURL(git *gitdir.Dir, name string) (string, error) {
	urls := git.Config.Values("remote", name, "pushurl")
	explicit := len(urls) > 0
	if !explicit {
		urls = git.Config.Values("remote", name, "url")
	}
	switch {
	case len(urls) == 0:
		return "", fmt.Errorf("remote %s of %s: %w", name, git.Common, ErrNoRemote)
	case len(urls) > 1:
		return "", fmt.Errorf("remote %s of %s: %w", name, git.Common, &gitdir.UnsupportedError{Reason: "it has multiple push URLs"})
	}
	url := urls[0]
	if rewritten, ok := instead(git.Config, url, "pushinsteadof"); ok && !explicit {
		url = rewritten
	} else if rewritten, ok := instead(git.Config, url, "insteadof"); ok {
		url = rewritten
	}
	if _, err := ParseAddress(url); err != nil && !strings.Contains(url, ":") && !git.Bare() {
		url = filepath.Join(git.Root, url)
	}
	return url, nil
}

// instead rewrites a URL by the longest matching prefix of a key in the "url"
// subsections.
func instead(configs gitdir.ConfigFiles, url, key string) (string, bool) {
	longest, base := "", ""
	for _, f := range configs {
		for _, b := range f.Subsections("url") {
			for _, prefix := range configs.Values("url", b, key) {
				if strings.HasPrefix(url, prefix) && len(prefix) > len(longest) {
					longest, base = prefix, b
				}
			}
		}
	}
	return base + strings.TrimPrefix(url, longest), longest != ""
}
