package logintest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// What the server of Entra's tokens accepts and issues.
const (
	TenantID     = "11111111-2222-3333-4444-555555555555"
	ClientID     = "66666666-7777-8888-9999-aaaaaaaaaaaa"
	ClientSecret = "client-secret-0123456789abcdef"
)

// EntraToken is the access token that Entra issues.
var EntraToken = "eyJ" + base64.RawURLEncoding.EncodeToString([]byte("entra-token")) + ".0123456789abcdef.signature"

// entraHosts are the hosts of Entra: of each cloud, the domain of its services and the end of the audience of its OIDC tokens.
var entraHosts = map[string][2]string{
	"login.microsoftonline.com":        {"azure.com", ""},
	"login.microsoftonline.us":         {"azure.us", "USGov"},
	"login.chinacloudapi.cn":           {"azure.cn", "China"},
	"login.partner.microsoftonline.cn": {"azure.cn", "China"},
}

// entra describes a tenant, and exchanges an OIDC token for an access token of its application.
func (c *Clouds) entra(w http.ResponseWriter, r *http.Request) {
	entraHost, of := "https://"+r.Host+"/", entraHosts[r.Host]
	tenant, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if path == "v2.0/.well-known/openid-configuration" {
		respond(w, http.StatusOK, map[string]any{
			"issuer": entraHost + tenant + "/v2.0", "token_endpoint": entraHost + tenant + "/oauth2/v2.0/token",
			"authorization_endpoint": entraHost + tenant + "/oauth2/v2.0/authorize",
		})
		return
	}
	err := r.ParseForm()
	field := r.PostForm.Get
	switch {
	case err != nil:
	case r.Method != http.MethodPost || field("grant_type") != "client_credentials" || r.URL.RawQuery != "":
		err = fmt.Errorf("unexpected request of Entra: %s %s", r.Method, r.URL)
	case !strings.Contains(" "+field("scope")+" ", " https://cognitiveservices."+of[0]+"/.default "):
		err = errors.New("AADSTS70011: the scope " + field("scope") + " is invalid")
	case tenant != TenantID:
		err = errors.New("AADSTS90002: tenant " + tenant + " not found")
	case field("client_id") != ClientID:
		err = errors.New("AADSTS700016: application " + field("client_id") + " was not found")
	case field("client_secret") == ClientSecret && field("client_assertion") == "":
	case field("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
		err = errors.New("AADSTS7000215: invalid client secret")
	default:
		err = checkIDToken(field("client_assertion"), "api://AzureADTokenExchange"+of[1])
	}
	if err != nil {
		c.note(err)
		respond(w, http.StatusBadRequest, map[string]any{
			"error": "invalid_client", "error_codes": []int{1},
			"error_description": err.Error() + ". Trace ID: 5 Correlation ID: 6 Timestamp: 2026-11-28 18:00:00Z\r\nmore",
		})
		return
	}
	c.count("entra")
	respond(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": EntraToken})
}
