package preflight

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/history"
)

// Options has the options of a preflight.
type Options struct {
	Git     gitdir.Env
	Mirrors string // directory of the mirrors of url repositories; created if missing
	// Auth returns what each remote gets as credentials, given the URLs of all
	// remotes of the plan's jobs. It is called once, before anything is sent; its
	// error refuses the run. nil: no remote gets any.
	Auth func(urls []string) (func(url string) remote.Auth, error)
	// Proxy returns the proxy of a request to a remote; nil: no proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Forge returns the client of a remote's forge, and the repository there; an error if
	// the forge is unknown. nil: pull requests are refused.
	Forge func(url string) (*forge.Client, forge.Path, error)
	// Reserve is the directory in which runs reserve their branches, and Run the id of
	// this one; "" reserves none.
	Reserve, Run string
	History      history.Run // what earlier processes did, and what this one does; the zero value for a new run
	// Local restricts the preflight to this machine: it does not check jobs on url
	// repositories, and contacts no remote.
	Local   bool
	Signing Signing // of jobs with commit.sign
	// Fetching is called for each url repository before it is fetched, and Fetched
	// afterwards; nil for nobody. Calls do not overlap.
	Fetching func(name string)
	Fetched  func(name string, err error)
}

// Signing is how the commits of jobs with commit.sign are signed.
type Signing struct {
	Sign      func(ctx context.Context, commit []byte) (string, error) // nil for none
	KeyFile   string                                                   // of the private key, which jobs can't access; "" for none
	Committer gitops.Signature                                         // without a time; the zero value for the default
}

// referenceTimeout is how long a remote may take to list its branches.
const referenceTimeout = time.Minute
