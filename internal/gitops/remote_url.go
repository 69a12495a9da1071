package gitops

import (
	"fmt"
	"path/filepath"
	"strings"
)

// RemoteURL returns the URL that a remote of the repository is pushed to, as git finds
// it in the configuration: pushurl, else url, rewritten by url.*.pushInsteadOf
// and url.*.insteadOf. A relative path is made absolute. The configuration is the one
// of when the repository was opened, so what an agent writes there since does not count.
// The error matches ErrNoRemote.
func (r *Repo) RemoteURL(name string) (string, error) {
	urls := r.subkeys("remote", name, "pushurl")
	explicit := len(urls) > 0
	if !explicit {
		urls = r.subkeys("remote", name, "url")
	}
	switch {
	case len(urls) == 0:
		return "", fmt.Errorf("remote %s of %s: %w", name, r.commonDir, ErrNoRemote)
	case len(urls) > 1:
		return "", fmt.Errorf("remote %s of %s: %w", name, r.commonDir, &UnsupportedError{Reason: "it has several URLs to push to"})
	}
	url := urls[0]
	if rewritten, ok := r.instead(url, "pushinsteadof"); ok && !explicit {
		url = rewritten
	} else if rewritten, ok := r.instead(url, "insteadof"); ok {
		url = rewritten
	}
	if _, err := parseAddress(url); err != nil && !strings.Contains(url, ":") && !r.bare() {
		url = filepath.Join(r.root, url)
	}
	return url, nil
}

// subkeys returns the values of a key of a subsection, in the order of the files. An
// empty value takes back those before it.
func (r *Repo) subkeys(section, name, key string) []string {
	var values []string
	for _, f := range r.configs {
		for _, s := range f.raw.Sections {
			if !s.IsName(section) {
				continue
			}
			for _, sub := range s.Subsections {
				if sub.Name != name {
					continue
				}
				for _, v := range sub.OptionAll(key) {
					if values = append(values, v); v == "" {
						values = nil
					}
				}
			}
		}
	}
	return values
}

// instead rewrites a URL by the longest of the prefixes that a key of the
// subsections of "url" names.
func (r *Repo) instead(url, key string) (string, bool) {
	longest, base := "", ""
	for _, f := range r.configs {
		for _, b := range f.subsections("url") {
			for _, prefix := range r.subkeys("url", b, key) {
				if strings.HasPrefix(url, prefix) && len(prefix) > len(longest) {
					longest, base = prefix, b
				}
			}
		}
	}
	return base + strings.TrimPrefix(url, longest), longest != ""
}
