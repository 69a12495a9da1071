package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/millhand/millhand/internal/files/abandon"
)

// entraAudience is the start of the audience of OIDC tokens that Entra accepts.
const entraAudience = "api://AzureADTokenExchange"

// azureCloud is a cloud of Azure: its domain, its Entra, and the end of the audience there.
type azureCloud struct {
	domain, audience string
	config           cloud.Configuration
	authorities      []string // hosts of its Entra
}

// azureClouds are the clouds of Azure; the first one is public.
var azureClouds = []azureCloud{
	{"azure.com", "", cloud.AzurePublic, []string{"login.microsoftonline.com"}},
	{"azure.us", "USGov", cloud.AzureGovernment, []string{"login.microsoftonline.us"}},
	{"azure.cn", "China", cloud.AzureChina, []string{"login.chinacloudapi.cn", "login.partner.microsoftonline.cn"}},
}

// azure returns the cloud of the endpoint, or of AZURE_AUTHORITY_HOST for an endpoint elsewhere, such as a gateway. That
// variable, which the SDK reads, also replaces the host of the cloud's Entra.
func (o Options) azure() azureCloud {
	hostOf := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return strings.ToLower(u.Hostname())
	}
	_, authority := o.first("AZURE_AUTHORITY_HOST")
	of := azureClouds[0]
	at := slices.IndexFunc(azureClouds, func(c azureCloud) bool { return strings.HasSuffix(hostOf(o.Endpoint), "."+c.domain) })
	if at < 0 {
		at = slices.IndexFunc(azureClouds, func(c azureCloud) bool { return slices.Contains(c.authorities, hostOf(authority)) })
	}
	if at > 0 {
		of = azureClouds[at]
	}
	if authority != "" {
		of.config = cloud.Configuration{}
	}
	return of
}

// entraForm is that of tenants and clients, which become parts of URLs.
var entraForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.-]{1,200}$`) })

// Entra returns a login to Azure with the OIDC token of the job and the application of the options
// or the environment, or else with the default credentials of the SDK. It sends nothing.
func (o Options) Entra() (*Tokens, error) {
	_, tenant := o.first("AZURE_TENANT_ID")
	_, client := o.first("AZURE_CLIENT_ID")
	stated := o.TenantID != "" || o.ClientID != "" || o.TokenEnv != ""
	o.TenantID, o.ClientID = cmp.Or(o.TenantID, tenant), cmp.Or(o.ClientID, client)
	own, _ := o.first("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_TOKEN_CREDENTIALS")
	from, federated := o.federated()
	credential, source := o.entraChain, "the managed identity of the machine or the Azure CLI"
	switch {
	case stated || federated && own == "" && o.TenantID != "" && o.ClientID != "":
		if err := o.checkEntra(); err != nil {
			return nil, err
		}
		credential, source = o.entraAssertion, "the application "+o.ClientID+" for "+from
	case own == "AZURE_TOKEN_CREDENTIALS":
		source = "the credentials that " + own + " selects"
	case own != "":
		source = "the application in AZURE_CLIENT_ID with " + own
	}
	return &Tokens{Source: source, Keys: o.tokens("Azure", func(ctx context.Context) (string, time.Time, error) {
		token, err := abandon.When(ctx, func() (azcore.AccessToken, error) { return o.entraToken(ctx, credential) })
		return token.Token, token.ExpiresOn, err
	})}, nil
}

// checkEntra returns an error if an OIDC token can't be exchanged.
func (o Options) checkEntra() error {
	switch {
	case o.TenantID == "" || o.ClientID == "":
		return errors.New("missing tenant or application of Azure: set AZURE_TENANT_ID and AZURE_CLIENT_ID, or login: {tenant_id: ID, client_id: ID}")
	case !entraForm().MatchString(o.TenantID) || !entraForm().MatchString(o.ClientID):
		return fmt.Errorf("invalid tenant %q or application %q of Azure", o.TenantID, o.ClientID)
	}
	return o.check()
}

// entraToken returns a new access token. The credential is a new one, as the SDK's would return the
// token that a server has rejected.
func (o Options) entraToken(ctx context.Context, credential func(context.Context, azcore.ClientOptions) (azcore.TokenCredential, error)) (azcore.AccessToken, error) {
	sent := &entraClient{client: o.client()}
	from, err := credential(ctx, azcore.ClientOptions{Cloud: o.azure().config, Transport: sent, Retry: policy.RetryOptions{MaxRetries: -1}}) // retries are the caller's
	if err != nil {
		return azcore.AccessToken{}, err
	}
	token, err := from.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://cognitiveservices." + o.azure().domain + "/.default"}})
	if err != nil {
		return azcore.AccessToken{}, sent.reason(err)
	}
	return token, nil
}

// entraAssertion returns the credential of an application that accepts the OIDC token of the job. The
// token is requested here: the SDK would make a text of its errors.
func (o Options) entraAssertion(ctx context.Context, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	token, err := o.idToken(ctx, entraAudience+o.azure().audience)
	if err != nil {
		return nil, err
	}
	return azidentity.NewClientAssertionCredential(o.TenantID, o.ClientID, func(context.Context) (string, error) { return token, nil },
		&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true}) // the host is the SDK's or the user's
}

// entraChain returns the default credentials of the SDK, which reads variables and may start the
// programs of Azure.
func (o Options) entraChain(_ context.Context, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
}

// entraClient sends the requests of a login, one after the other. The SDK makes a text of network
// errors; the last one is stored here.
type entraClient struct {
	client *http.Client
	lost   error
}

// Do implements [policy.Transporter].
func (c *entraClient) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.client.Do(r)
	c.lost = err
	return resp, err
}

// reason returns the error of a login without the SDK's copy of the response.
func (c *entraClient) reason(err error) error {
	var failed *azidentity.AuthenticationFailedError
	switch {
	case !errors.As(err, &failed):
		return errors.New("no credentials in the variables of Azure, the managed identity of the machine or the Azure CLI")
	case failed.RawResponse != nil:
		return &statusError{entraText(failed.RawResponse), failed.RawResponse.StatusCode}
	case c.lost != nil:
		return c.lost
	}
	return err
}

// entraText returns the reason in a response of Entra, without the lines about its trace.
func entraText(resp *http.Response) string {
	var said struct {
		Description string `json:"error_description"`
	}
	body, err := runtime.Payload(resp)
	if err != nil || json.Unmarshal(body, &said) != nil || said.Description == "" {
		return "the server responded with " + resp.Status
	}
	text, _, _ := strings.Cut(said.Description, "\n")
	text, _, _ = strings.Cut(text, " Trace ID:")
	return strings.TrimSpace(text)
}
