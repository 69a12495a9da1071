package wire

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/millhand/millhand/internal/proc/keys"
)

// Defaults of the [Options] that may be zero.
const (
	DefaultHeaderTimeout = 5 * time.Minute // models that reason may send nothing before
	DefaultIdleTimeout   = 120 * time.Second
	DefaultQuietTimeout  = 10 * time.Minute
	DefaultTotalTimeout  = time.Hour // the longest regular responses take half of it
)

// Options has the address of a model and the timeouts of its requests.
type Options struct {
	BaseURL string            // the API's path is appended; "" is the API's default
	APIKey  string            // sent in the API's header; "" sends none
	Model   string            // the provider's id of the model
	Header  map[string]string // added to every request
	Query   map[string]string // added to the URL of every request
	Bearer  bool              // APIKey is sent as a bearer token, also where the API has a header of its own

	// Keys provides the key of each request; nil for APIKey.
	Keys *keys.Source
	// Ready is called before each request of an SDK that signs requests itself: it gets the
	// credentials, unless there are valid ones. It may be nil. Its errors are those of a key.
	Ready func(context.Context) error
	// Rejected is called with a response that is an error, and reports whether it rejects credentials which
	// Ready can replace: the request is sent again, once. It may read the body, which it restores, and may be nil.
	Rejected func(*http.Response) bool

	UserAgent string // "" is millhand

	HeaderTimeout time.Duration // until the response starts; 0 is DefaultHeaderTimeout
	IdleTimeout   time.Duration // without any byte of a response; 0 is DefaultIdleTimeout
	QuietTimeout  time.Duration // without content, only keep-alives; 0 is DefaultQuietTimeout
	TotalTimeout  time.Duration // of a complete response, however slow; 0 is DefaultTotalTimeout

	Proxy      func(*http.Request) (*url.URL, error) // of the client that is created if HTTPClient is nil; may be nil
	HTTPClient *http.Client                          // nil creates one for this model, which follows no redirects
	Now        func() time.Time                      // for a Retry-After with a date; nil ignores these
}

const (
	usageGrace    = 2 * time.Second        // wait for the usage after the finish reason, if it was missing before
	usageFirst    = 10 * time.Second       // the same, before it was ever missing
	drainGrace    = 100 * time.Millisecond // wait for the end of a complete response, to reuse the connection
	responseLimit = 64 << 20               // bytes of one response as sent
	guessTokens   = 128 << 10              // output tokens of a response whose request sets no limit
	minTokens     = 4 << 10                // output tokens that every response may have, for servers that don't count reasoning
	tokenLimit    = 16                     // bytes of one token, on average over a response; prose has 4
	slackLimit    = 4 << 20                // bytes of one event in addition to its content, such as a repeated request
	lineLimit     = 31 << 20               // bytes of one event, of which the SDKs read 32 MiB
	faultLimit    = 64 << 10               // bytes of an error's body
	dialTimeout   = 30 * time.Second       // TCP and TLS, each
	pingAfter     = 30 * time.Second       // silence on an HTTP/2 connection before it is probed
	idleConns     = 64                     // idle connections per host: about one per job
	keepConn      = 90 * time.Second       // how long an idle connection stays open
)

// NewHTTPClient returns a client for models, which follows no redirects. Models that share it share its
// connections. proxy may be nil.
func NewHTTPClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return &http.Client{
		// A redirected POST would become a GET of another URL. An error with the new
		// location is more useful.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  checkedProxy(proxy),
			OnProxyConnectResponse: checkTunnel,
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter},
			MaxIdleConnsPerHost:    idleConns,
			IdleConnTimeout:        keepConn,
		},
	}
}
