package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/programs"
	"github.com/millhand/millhand/tasks/problem"
)

// cloudKinds are the kinds of providers that clouds serve, with the keys that only they have.
var cloudKinds = map[string][]string{
	"bedrock": {"region", "login"},
	"vertex":  {"region", "project", "login"},
	"azure":   {"login"},
}

var (
	loginForm    = form.Of[*tasks.Login]{Type: form.TypeOf(loginKeys), Read: readLogin}
	regionForm   = formed(`[a-z]{2,20}(-[a-z0-9]{1,20}){0,4}`, "us-east-1")
	roleForm     = formed(`arn:aws[a-z-]{0,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}`, "arn:aws:iam::123456789012:role/NAME")
	projectForm  = formed(`([a-z0-9.-]{1,100}:)?[a-z0-9-]{1,100}`, "my-project")
	identityForm = formed(`projects/[0-9]{1,30}/locations/global/workloadIdentityPools/[a-z0-9-]{1,100}/providers/[a-z0-9-]{1,100}`, "projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME")
	clientForm   = formed(`[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`, "11111111-2222-3333-4444-555555555555")
	tenantForm   = formed(`[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63}){0,8}`, "11111111-2222-3333-4444-555555555555")
	serviceForm  = formed(`[a-z0-9.-]{1,100}@[a-z0-9.-]{1,200}`, "NAME@PROJECT.iam.gserviceaccount.com")
)

// formed is the form of a text that a pattern matches: parts of these texts become parts of URLs.
func formed(pattern, example string) form.Of[string] {
	full := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(" + pattern + ")$") })
	return form.Of[string]{Type: form.Type{Name: "string"}, Read: func(v form.Value) (string, bool) {
		t, ok := v.Filled()
		if ok && !full().MatchString(t.S) {
			v.Problem(fmt.Sprintf("invalid %s %s", v.Label, problem.Quote(t.S)), "write for example "+example)
			return "", false
		}
		return t.S, ok
	}}
}

// readLogin reads how a cloud is logged in to. It is a source of keys, which policies have to list.
func readLogin(v form.Value) (*tasks.Login, bool) {
	var l tasks.Login
	loginKeys(&l).Read(v)
	if v.RefusedKeySource("a login to a cloud", cmp.Or(l.Role, l.IdentityProvider, l.ClientID, "login")) {
		return nil, false
	}
	return &l, true
}

// checkCloud reports keys of clouds that a provider of a kind does not have.
func checkCloud(got map[string]form.Value, name, kind string) {
	if name == "azure" && (kind == "openai" || kind == "responses") { // APIs of the same cloud
		kind = name
	}
	for _, key := range []string{"region", "project", "login"} {
		if at, given := got[key]; given && !slices.Contains(cloudKinds[kind], key) {
			having := slices.DeleteFunc(slices.Sorted(maps.Keys(cloudKinds)), func(kind string) bool { return !slices.Contains(cloudKinds[kind], key) })
			at.KeyProblem(fmt.Sprintf("%s is not supported by kind %s", key, kind), "remove it, or write kind: "+strings.Join(having, " or "))
		}
	}
}

func loginKeys(l *tasks.Login) form.Table {
	return form.Table{
		{Name: "role", Field: form.Into(&l.Role, roleForm), Doc: "ARN of the AWS role that is assumed with the OIDC token of the CI"},
		{Name: "identity_provider", Field: form.Into(&l.IdentityProvider, identityForm), Doc: "Google's workload identity provider that exchanges the OIDC token: projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME"},
		{Name: "service_account", Field: form.Into(&l.ServiceAccount, serviceForm), Doc: "Google service account that the identity provider may impersonate"},
		{Name: "tenant_id", Field: form.Into(&l.TenantID, tenantForm), Doc: "Entra tenant of Azure (AZURE_TENANT_ID if absent)"},
		{Name: "client_id", Field: form.Into(&l.ClientID, clientForm), Doc: "Entra application that accepts the OIDC token (AZURE_CLIENT_ID if absent)"},
		{Name: "id_token_env", Field: form.Into(&l.TokenEnv, programs.Variable), Doc: "Environment variable with the OIDC token (GitHub's is requested if absent)"},
	}
}
