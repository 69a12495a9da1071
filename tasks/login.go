package tasks

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks/problem"
)

// cloudKinds are the kinds of providers that clouds serve, with the keys that only they have.
var cloudKinds = map[string][]string{
	"bedrock": {"region", "login"},
	"vertex":  {"region", "project", "login"},
	"azure":   {"login"},
}

var (
	loginForm    = form[*Login]{typeOf((*Login).keys), readLogin}
	regionForm   = formed(`[a-z]{2,20}(-[a-z0-9]{1,20}){0,4}`, "us-east-1")
	roleForm     = formed(`arn:aws[a-z-]{0,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}`, "arn:aws:iam::123456789012:role/NAME")
	projectForm  = formed(`([a-z0-9.-]{1,100}:)?[a-z0-9-]{1,100}`, "my-project")
	identityForm = formed(`projects/[0-9]{1,30}/locations/global/workloadIdentityPools/[a-z0-9-]{1,100}/providers/[a-z0-9-]{1,100}`, "projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME")
	clientForm   = formed(`[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}`, "11111111-2222-3333-4444-555555555555")
	tenantForm   = formed(`[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63}){0,8}`, "11111111-2222-3333-4444-555555555555")
	serviceForm  = formed(`[a-z0-9.-]{1,100}@[a-z0-9.-]{1,200}`, "NAME@PROJECT.iam.gserviceaccount.com")
)

// formed is the form of a text that a pattern matches: parts of these texts become parts of URLs.
func formed(pattern, example string) form[string] {
	full := regexp.MustCompile("^(" + pattern + ")$")
	return form[string]{Type{Name: "string"}, func(v value) (string, bool) {
		t, ok := v.filled()
		if ok && !full.MatchString(t.s) {
			v.problem(fmt.Sprintf("invalid %s %s", v.name, problem.Quote(t.s)), "write for example "+example)
			return "", false
		}
		return t.s, ok
	}}
}

// readLogin reads how a cloud is logged in to. It is a source of keys, which policies have to list.
func readLogin(v value) (*Login, bool) {
	var l Login
	l.keys().read(v)
	if v.refusedKeySource("a login to a cloud", cmp.Or(l.Role, l.IdentityProvider, l.ClientID, "login")) {
		return nil, false
	}
	return &l, true
}

// checkCloud reports keys of clouds that a provider of a kind does not have.
func checkCloud(got map[string]value, name, kind string) {
	if name == "azure" && (kind == "openai" || kind == "responses") { // APIs of the same cloud
		kind = name
	}
	for _, key := range []string{"region", "project", "login"} {
		if at, given := got[key]; given && !slices.Contains(cloudKinds[kind], key) {
			having := slices.DeleteFunc(slices.Sorted(maps.Keys(cloudKinds)), func(kind string) bool { return !slices.Contains(cloudKinds[kind], key) })
			at.keyProblem(fmt.Sprintf("%s is not supported by kind %s", key, kind), "remove it, or write kind: "+strings.Join(having, " or "))
		}
	}
}

func (l *Login) keys() keys {
	return keys{
		{"role", into(&l.Role, roleForm), "", "ARN of the AWS role that is assumed with the OIDC token of the CI"},
		{"identity_provider", into(&l.IdentityProvider, identityForm), "", "Google's workload identity provider that exchanges the OIDC token: projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME"},
		{"service_account", into(&l.ServiceAccount, serviceForm), "", "Google service account that the identity provider may impersonate"},
		{"tenant_id", into(&l.TenantID, tenantForm), "", "Entra tenant of Azure (AZURE_TENANT_ID if absent)"},
		{"client_id", into(&l.ClientID, clientForm), "", "Entra application that accepts the OIDC token (AZURE_CLIENT_ID if absent)"},
		{"id_token_env", into(&l.TokenEnv, keyEnvForm), "", "Environment variable with the OIDC token (GitHub's is requested if absent)"},
	}
}
