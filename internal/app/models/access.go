package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/login"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/proc/keys"
	"github.com/millhand/millhand/tasks"
)

// variables are those of the environment.
type variables func(name string) string

// first returns the first of some variables that is set, and its value; "" for none.
func (v variables) first(names []string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(v(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// access finds the keys and logins of providers.
type access struct {
	getenv  variables
	environ []string // of key commands
	now     func() time.Time
	proxy   func(*http.Request) (*url.URL, error)
	hold    func(secret string)
}

func (m *Set) access() access { return access{m.getenv, m.environ, m.now, m.proxy, m.hold} }

// authorized adds the key or login of a provider to its configuration, and returns what identifies
// its account and how errors of the key are fixed.
func (a access) authorized(conf provider.Config, kind provider.Kind, own tasks.Provider, defined bool, written string) (_ provider.Config, account, fix string, err error) {
	switch {
	case own.Key != nil:
		if conf.Keys, err = a.keys(*own.Key); err != nil {
			return conf, "", "", fmt.Errorf("%s: %w", written, err)
		}
		account, fix = keySource(*own.Key), "check the provider's key_command or token_file"
	case own.KeyEnv != "":
		if _, conf.APIKey = a.getenv.first([]string{own.KeyEnv}); conf.APIKey == "" {
			return conf, "", "", &fault.KeyError{Model: written, Variables: []string{own.KeyEnv}}
		}
		account, fix = conf.APIKey, checkKey([]string{own.KeyEnv})
	case own.Login == nil && defined && own.BaseURL != "" && (kind.Cloud == kinds.Azure || !ownHost(kind, own.BaseURL)): // another server must not receive the provider's key
	case own.Login == nil:
		var variable string
		variable, conf.APIKey = a.getenv.first(kind.KeyEnv)
		if conf.Bearer = slices.Contains(kind.TokenEnv, variable); conf.APIKey != "" {
			account, fix = conf.APIKey, checkKey(kind.KeyEnv)
		} else if !a.logsIn(kind, own) && !kind.Keyless {
			return conf, "", "", &fault.KeyError{Model: written, Variables: kind.KeyEnv}
		}
	}
	if !a.logsIn(kind, own) {
		return conf, account, fix, nil
	}
	return a.loggedIn(conf, kind, own, written, account, fix)
}

// LoginError is the error of a model whose provider has no login.
type LoginError struct {
	Model string // as in the manifest
	Err   error
}

func (e *LoginError) Error() string { return e.Model + ": " + e.Err.Error() }

// Unwrap returns the error inside.
func (e *LoginError) Unwrap() error { return e.Err }

// Login is the login of a model that a cloud serves, or why it has none.
type Login struct {
	Model  string // as in the manifest
	Source string // where the credentials come from, which is not tried
	Err    error
}

// Logins returns the logins of the models that clouds serve.
func (m *Set) Logins() []Login {
	var list []Login
	for _, c := range m.named() {
		prefix, _, _ := strings.Cut(c.id, "/")
		if _, kind, err := endpoint(m.Plan, c.id); err != nil || !m.access().logsIn(kind, m.Plan.Providers[prefix]) {
			continue
		}
		_, err := m.open(c.id, c.name, session{})
		m.mu.Lock()
		list = append(list, Login{c.name, m.wires[c.id].source, err})
		m.mu.Unlock()
	}
	return list
}

// Found reports models without credentials that [Set.Check] could not miss, because the metadata service of the machine
// may have had them. It asks that service, and costs nothing.
func (m *Set) Found(ctx context.Context) error {
	for _, c := range m.named() {
		m.mu.Lock()
		found := m.wires[c.id].found
		m.mu.Unlock()
		if found == nil {
			continue
		}
		if err := found(ctx); err != nil {
			return &LoginError{c.name, err}
		}
	}
	return nil
}

// CloudLogins returns the logins to the clouds that the environment is set up for.
func CloudLogins(getenv func(string) string) []Login {
	var list []Login
	for _, name := range kinds.Names() {
		kind, _ := provider.Lookup(name)
		m := withPrices(&tasks.Plan{Jobs: []tasks.Job{{Model: name + "/anthropic.claude", ModelName: name}}}, process{getenv: getenv}, prices.BuiltIn())
		if _, base := m.getenv.first(kind.BaseEnv); kind.Cloud == kinds.Azure && base == "" { // other tools have the same variables
			continue
		}
		if variable, _ := m.getenv.first(kind.LoginEnv); variable != "" {
			list = append(list, m.Logins()...)
		}
	}
	return list
}

func checkKey(variables []string) string {
	return "check the key in the environment variable " + strings.Join(variables, " or ")
}

// ownHost reports whether a base URL is one of the cloud itself, which may get its credentials.
func ownHost(kind provider.Kind, base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "https" && slices.ContainsFunc(kind.Hosts, func(end string) bool { return strings.HasSuffix(strings.ToLower(u.Hostname()), end) })
}

// logsIn reports whether a provider without a key logs in to its cloud. Azure, which has keys, too, is
// logged in to only with a login in the manifest or a variable of the environment, and if no header is a key.
func (a access) logsIn(kind provider.Kind, own tasks.Provider) bool {
	if kind.Cloud != kinds.Azure || own.Login != nil {
		return kind.Cloud != ""
	}
	if own.KeyEnv != "" || own.Key != nil {
		return false
	}
	for name := range own.Headers {
		if strings.EqualFold(name, "Api-Key") || strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	key, _ := a.getenv.first(kind.KeyEnv)
	login, _ := a.getenv.first(kind.LoginEnv)
	if own.BaseURL != "" { // which doesn't get the key of the variable
		return login != "" && ownHost(kind, own.BaseURL)
	}
	return login != "" && key == ""
}

// loggedIn adds the login of a cloud, unless there is a key.
func (a access) loggedIn(conf provider.Config, kind provider.Kind, own tasks.Provider, written, account, fix string) (_ provider.Config, _, _ string, err error) {
	keyed := conf.APIKey != "" || conf.Keys != nil
	if !keyed && own.Login == nil && own.BaseURL != "" && !ownHost(kind, own.BaseURL) {
		return conf, "", "", fmt.Errorf("%s: credentials of %s are not sent to %s: add login: {} to the provider if they may be, or key_env", written, kind.Cloud, EndpointHost(own.BaseURL))
	}
	o := a.login(own)
	switch kind.Cloud {
	case kinds.Google:
		return a.ofGoogle(conf, o, own, written, account, fix)
	case kinds.Azure:
		o.Endpoint = conf.BaseURL
		return ofAzure(conf, o, written)
	case kinds.AWS:
	}
	if variable := kind.KeyEnv[0]; (own.Login != nil || own.KeyEnv != "" && own.KeyEnv != variable || own.Key != nil) && a.getenv(variable) != "" {
		return conf, "", "", fmt.Errorf("%s: the SDK of %s would send the key in %s: unset that variable, or remove the other key or login from the provider", written, kind.Cloud, variable)
	}
	aws, err := o.AWS()
	if err != nil {
		return conf, "", "", &LoginError{written, err}
	}
	conf.AWS = aws
	if !keyed {
		account, fix = aws.Source+aws.Config.Region, "the login uses "+aws.Source
	}
	return conf, account, fix, nil
}

// ofGoogle adds the project, the region and the login of Google Cloud.
func (a access) ofGoogle(conf provider.Config, o login.Options, own tasks.Provider, written, account, fix string) (_ provider.Config, _, _ string, err error) {
	_, project := a.getenv.first([]string{"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"})
	conf.Project, conf.Region = cmp.Or(own.Project, project), regionOf(a.getenv, own, true)
	switch {
	case conf.Project == "":
		err = errors.New("missing project of Google Cloud: set ANTHROPIC_VERTEX_PROJECT_ID, or providers: {NAME: {project: PROJECT}}")
	case conf.Region == "":
		err = errors.New("missing region of Google Cloud: set CLOUD_ML_REGION, or providers: {NAME: {region: REGION}}")
	case !placeForm().MatchString(conf.Project) || !placeForm().MatchString(conf.Region):
		err = fmt.Errorf("invalid project %q or region %q of Google Cloud", conf.Project, conf.Region)
	}
	if err != nil {
		return conf, "", "", &LoginError{written, err}
	}
	if conf.Keys != nil || conf.APIKey != "" {
		return conf, account, fix, nil
	}
	g, err := o.Google()
	if err != nil {
		return conf, "", "", &LoginError{written, err}
	}
	conf.Keys, conf.Source = g.Keys, g.Source
	return conf, g.Source + conf.Project, "the login uses " + g.Source, nil
}

// ofAzure adds the login of Azure.
func ofAzure(conf provider.Config, o login.Options, written string) (_ provider.Config, account, fix string, err error) {
	e, err := o.Entra()
	if err != nil {
		return conf, "", "", &LoginError{written, err}
	}
	conf.Keys, conf.Source = e.Keys, e.Source
	return conf, e.Source, "the login uses " + e.Source, nil
}

// placeForm is that of projects and regions, which become parts of URLs.
var placeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9.:-]{1,200}$`) })

// source describes where the credentials of a cloud come from.
func source(conf provider.Config, kind provider.Kind) string {
	switch {
	case conf.Source != "":
		return conf.Source
	case conf.APIKey != "" || conf.Keys != nil:
		return "a key"
	case kind.Cloud == kinds.AWS:
		return conf.AWS.Source
	}
	return ""
}

// login describes the login of a provider.
func (a access) login(own tasks.Provider) login.Options {
	l := tasks.Login{}
	if own.Login != nil {
		l = *own.Login
	}
	return login.Options{
		Region: own.Region, Role: l.Role, IdentityProvider: l.IdentityProvider, ServiceAccount: l.ServiceAccount, TenantID: l.TenantID, ClientID: l.ClientID, TokenEnv: l.TokenEnv,
		Getenv: a.getenv, Now: a.now, Hold: a.hold, Proxy: a.proxy,
	}
}

// regionOf returns the region of the requests to a provider of a cloud.
func regionOf(getenv variables, own tasks.Provider, google bool) string {
	names := []string{"AWS_REGION", "AWS_DEFAULT_REGION"}
	if google {
		names = []string{"CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"}
	}
	_, region := getenv.first(names)
	return cmp.Or(own.Region, region)
}

// hold redacts a secret from now on.
func (m *Set) hold(secret string) {
	if m.Hold != nil {
		m.Hold(secret)
	}
}

// keys returns the source of a provider's keys.
func (a access) keys(of tasks.KeySource) (*keys.Source, error) {
	if of.File == "" {
		return keys.FromCommand(keys.Command{Args: of.Command, Dir: of.Dir, Env: a.environ, TTL: of.TTL}, a.now, a.hold), nil
	}
	if _, err := os.Stat(of.File); err != nil {
		return nil, fmt.Errorf("token_file: %w", err)
	}
	return keys.FromFile(of.File, a.now, a.hold), nil
}
