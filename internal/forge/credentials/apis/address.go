package apis

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
)

// Server returns the server of a remote's API, and the repository there.
func Server(address string) (*url.URL, forge.Path, error) {
	at, err := remote.ParseAddress(address)
	if err != nil {
		return nil, forge.Path{}, err
	}
	server := &url.URL{Scheme: at.Scheme, Host: at.Host}
	switch at.Scheme {
	case "https", "http":
	case "ssh":
		server = &url.URL{Scheme: "https", Host: (&url.URL{Host: at.Host}).Hostname()}
	default:
		return nil, forge.Path{}, errors.New("the remote is not on a forge")
	}
	full := strings.TrimSuffix(strings.Trim(at.Path, "/"), ".git")
	i := strings.LastIndex(full, "/")
	if i <= 0 {
		return nil, forge.Path{}, fmt.Errorf("%s is not OWNER/NAME on %s", full, server.Host)
	}
	return server, forge.Path{Owner: full[:i], Name: full[i+1:]}, nil
}

// PullPath returns the repository of a pull request, which is not the one with its branch
// if that is a fork. The server of its URL must be that of the branch.
func PullPath(address string, server *url.URL, pushed forge.Path) forge.Path {
	u, err := url.Parse(address)
	if err != nil || !strings.EqualFold(u.Hostname(), server.Hostname()) {
		return pushed
	}
	for _, form := range []string{"/-/merge_requests/", "/pulls/", "/pull/"} {
		if i := strings.LastIndex(u.Path, form); i > 0 {
			full := strings.Trim(u.Path[:i], "/")
			if slash := strings.LastIndexByte(full, '/'); slash > 0 {
				return forge.Path{Owner: full[:slash], Name: full[slash+1:]}
			}
		}
	}
	return pushed
}
