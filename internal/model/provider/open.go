package provider

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/login"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/anthropic"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/openai"
	"github.com/millhand/millhand/internal/model/wire"
	"github.com/millhand/millhand/internal/proc/keys"
)

// Config selects a model and its server.
type Config struct {
	Kind      string
	API       API    // of a kind with two of them; "" chooses by the model's name
	BaseURL   string // "" is the kind's
	APIKey    string
	Keys      *keys.Source // provides the key of each request; nil for APIKey
	Bearer    bool         // APIKey is sent as a bearer token, whatever the kind's header is
	UserAgent string       // "" is millhand
	Model     string       // the provider's id of the model
	Like      string       // PROVIDER/MODEL whose abilities it has; "" for those of its own name
	MaxOutput int          // the model's maximum output tokens, for wires that require a limit; 0 is a guess by its name
	AWS       *login.AWS   // signs the requests of kind bedrock; nil for a key and a base URL
	Region    string       // of kind vertex
	Project   string       // of kind vertex
	Source    string       // where the credentials of a login come from, for people
	Header    map[string]string
	Query     map[string]string

	HeaderTimeout time.Duration // until a response starts; 0 is the kind's
	IdleTimeout   time.Duration // without any byte of a response; 0 is the kind's
	QuietTimeout  time.Duration // without content, only keep-alives; 0 is wire.DefaultQuietTimeout
	TotalTimeout  time.Duration // of a complete response; 0 is wire.DefaultTotalTimeout

	Proxy      func(*http.Request) (*url.URL, error) // of the client that is created if HTTPClient is nil; may be nil
	HTTPClient *http.Client                          // nil creates one for this model
	Now        func() time.Time                      // for a Retry-After that is a date
}

// NewHTTPClient returns a client for several models: see [Config].
func NewHTTPClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return wire.NewHTTPClient(proxy)
}

// API is one of OpenAI's.
type API string

// The APIs of OpenAI, as a manifest's kind.
const (
	ChatAPI      API = "openai"
	ResponsesAPI API = "responses"
)

// Open returns the model. Its errors are for the user to fix: an unknown kind, or one
// without a default base URL when none is given.
func Open(c Config) (model.Model, error) {
	kind, ok := Lookup(c.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown provider kind %q (known kinds: %s)", c.Kind, strings.Join(kinds.Names(), ", "))
	}
	base := kind.base(cmp.Or(c.BaseURL, kind.BaseURL, c.cloudURL()))
	if base == "" {
		return nil, fmt.Errorf("provider kind %s requires a base URL", kind.Name)
	}
	if kind.Keyless { // servers that load the model and read the prompt before they send anything
		c.HeaderTimeout, c.IdleTimeout = cmp.Or(c.HeaderTimeout, slowTimeout), cmp.Or(c.IdleTimeout, slowTimeout)
	}
	o := wire.Options{
		BaseURL: base, APIKey: c.APIKey, Keys: c.Keys, Bearer: c.Bearer, Model: c.Model, Header: kind.headers(c.Header), Query: c.Query, UserAgent: c.UserAgent,
		HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout, QuietTimeout: c.QuietTimeout, TotalTimeout: c.TotalTimeout,
		Proxy: c.Proxy, HTTPClient: c.HTTPClient, Now: c.Now,
	}
	speaks, dialect := kind.protocol(c, base)
	switch speaks {
	case messages:
		d := c.claude()
		d.MaxOutput = cmp.Or(c.MaxOutput, d.MaxOutput)
		if kind.Cloud != "" {
			return c.cloud(kind, o, d)
		}
		return anthropic.New(o, d), nil
	case responses:
		return openai.Responses(o, dialect), nil
	default:
		return openai.Either(o, dialect), nil
	}
}

// slowTimeout is the wait for data of servers that users run themselves.
const slowTimeout = 10 * time.Minute

// headers returns the headers of requests: the kind's, and those of the user, which replace
// them.
func (k Kind) headers(own map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range k.header {
		all[http.CanonicalHeaderKey(name)] = value
	}
	for name, value := range own {
		all[http.CanonicalHeaderKey(name)] = value
	}
	return all
}

// protocol returns the wire of a model, and its dialect.
func (k Kind) protocol(c Config, base string) (protocol, openai.Dialect) {
	speaks, d, name := k.speaks, k.dialect, c.known(k.Name)
	switch {
	case speaks == native && c.API != "":
		speaks = map[API]protocol{ChatAPI: chat, ResponsesAPI: responses}[c.API]
	case speaks != native:
	case k.imitated && !isOpenAI(base):
		speaks, d = chat, compatible
	case strings.Contains(base, "/openai/deployments/"): // Azure's URLs of single deployments have only this
		speaks = chat
	case thinks(name):
		speaks = responses
	default:
		speaks = chat
	}
	if speaks == responses {
		d.Effort = effortOf(name)
	} else {
		d = k.dialectOf(d, name)
	}
	return speaks, c.able(k, d)
}

// isOpenAI reports whether a base URL is OpenAI's. It has a host for each region where data
// stays, such as us.api.openai.com.
func isOpenAI(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}

// base completes a base URL in the forms in which users have it.
func (k Kind) base(base string) string {
	if base == "" {
		return ""
	}
	if k.port != "" && !strings.Contains(base, "://") {
		base = "http://" + strings.Replace(base, "0.0.0.0", "127.0.0.1", 1) // as OLLAMA_HOST has it
	}
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	switch path := strings.Trim(u.Path, "/"); {
	case path != "" && path == k.native:
		return strings.TrimRight(base, "/") + strings.TrimPrefix(k.path, "/"+k.native)
	case path != "" || k.path == "":
		return base
	case k.port == "":
		return strings.TrimRight(base, "/") + k.path
	case u.Port() == "":
		u.Host += ":" + k.port
	}
	u.Path = k.path
	return u.String()
}
