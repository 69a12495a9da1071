package login

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// awsAudience is the audience of OIDC tokens that AWS suggests for its identity providers, and chinaAudience that in China.
const (
	awsAudience   = "sts.amazonaws.com"
	chinaAudience = "sts.amazonaws.com.cn"
)

// sessionName is that of sessions with a role, in AWS's logs.
const sessionName = "millhand"

// AWS is a login to AWS.
type AWS struct {
	Config aws.Config // with the region and the credentials
	Source string     // where the credentials come from, for people

	machine bool        // they come from its metadata service, if it has one
	served  atomic.Bool // it has
}

// AWS returns a login with the role of the options, or else by the SDK's chain of credentials. It
// reads variables and the files of the SDK.
//
//nolint:contextcheck,nolintlint // the SDK opens small files of the user; the linter sees callers only
func (o Options) AWS() (*AWS, error) {
	client := awshttp.NewBuildableClient().WithTimeout(requestTime).WithTransportOptions(func(t *http.Transport) { t.Proxy = o.Proxy })
	load := []func(*config.LoadOptions) error{config.WithHTTPClient(client)}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	conf, err := config.LoadDefaultConfig(context.Background(), load...)
	if err != nil {
		return nil, failed(context.Background(), "AWS", err)
	}
	if conf.Region == "" {
		return nil, errors.New("missing region of AWS: set AWS_REGION, or providers: {NAME: {region: REGION}}")
	}
	a := &AWS{Config: conf, Source: "the credential chain of AWS"}
	role := cmp.Or(o.Role, o.impliedRole())
	switch cached, sources := conf.Credentials.(aws.CredentialProviderSource); {
	case role != "":
		if err := o.check(); err != nil {
			return nil, err
		}
		from, _ := o.federated()
		a.Source = "the role " + role + " for " + from
		anonymous := conf.Copy()
		anonymous.Credentials = aws.AnonymousCredentials{}
		a.Config.Credentials = aws.NewCredentialsCache(&webIdentity{o, role, sts.NewFromConfig(anonymous)},
			func(c *aws.CredentialsCacheOptions) { c.ExpiryWindow = early })
	case sources:
		a.describe(cached.ProviderSources(), o)
	}
	a.Config.Credentials = &held{CredentialsProvider: a.Config.Credentials, hold: o.Hold}
	return a, nil
}

// URL returns the base URL of a service in the region of the login. The SDK has no table of domains for other
// programs: it is that of its service of tokens, which exists in all of AWS's partitions (amazonaws.com.cn in China).
func (a *AWS) URL(service string) string {
	region, domain := a.Config.Region, "amazonaws.com"
	tokens, err := sts.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), sts.EndpointParameters{Region: &region})
	if err == nil {
		if own, ok := strings.CutPrefix(tokens.URI.Host, "sts."+region+"."); ok {
			domain = own
		}
	}
	if a.fips() {
		service += "-fips"
	}
	return "https://" + service + "." + region + "." + domain
}

// fips reports whether AWS_USE_FIPS_ENDPOINT or the profile demands endpoints with validated cryptography.
func (a *AWS) fips() bool {
	for _, source := range a.Config.ConfigSources {
		if from, ok := source.(interface {
			GetUseFIPSEndpoint(ctx context.Context) (aws.FIPSEndpointState, bool, error)
		}); ok {
			if state, found, err := from.GetUseFIPSEndpoint(context.Background()); found && err == nil {
				return state == aws.FIPSEndpointStateEnabled
			}
		}
	}
	return false
}

// impliedRole returns the role in AWS_ROLE_ARN if only GitHub's OIDC token can be used for it: the
// SDK reads that variable only together with a file.
func (o Options) impliedRole() string {
	_, ok := o.federated()
	if name, _ := o.first("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"); name != "" || !ok {
		return ""
	}
	_, role := o.first("AWS_ROLE_ARN")
	return role
}

// describe sets where the credentials come from.
func (a *AWS) describe(sources []aws.CredentialSource, o Options) {
	has := func(s aws.CredentialSource) bool { return slices.Contains(sources, s) }
	_, profile := o.first("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
	switch {
	case has(aws.CredentialSourceEnvVars):
		a.Source = "AWS_ACCESS_KEY_ID"
	case has(aws.CredentialSourceEnvVarsSTSWebIDToken):
		a.Source = "the role in AWS_ROLE_ARN for the OIDC token in AWS_WEB_IDENTITY_TOKEN_FILE"
	case has(aws.CredentialSourceHTTP):
		a.Source = "the container"
	case has(aws.CredentialSourceIMDS):
		a.Source, a.machine = "the metadata service of the machine", true
	default:
		a.Source = "the profile " + cmp.Or(profile, "default")
	}
}

// Ready gets credentials, unless it has some that are valid. Its error is a [keys.Unavailable]
// for failures that may end.
func (a *AWS) Ready(ctx context.Context) error {
	limited, cancel := limit(ctx)
	defer cancel()
	if a.machine && !a.served.Load() {
		limited, cancel = context.WithTimeout(limited, machineTime)
		defer cancel()
	}
	_, err := a.Config.Credentials.Retrieve(limited)
	switch {
	case err == nil:
		a.served.Store(true)
		return nil
	case a.machine && !a.served.Load() && ctx.Err() == nil: // a missing service does not respond at all
		return errors.New("login to AWS failed: no credentials in the environment, the files of AWS or the metadata service of the machine: set AWS_ACCESS_KEY_ID or AWS_PROFILE, or login: {role: ARN} for a job with an OIDC token")
	}
	return failed(limited, "AWS", err)
}

// Found is [AWS.Ready] for credentials that only the metadata service of the machine can have, and nil for others, so that
// a missing service is reported before a run.
func (a *AWS) Found(ctx context.Context) error {
	if !a.machine {
		return nil
	}
	return a.Ready(ctx)
}

// expired are the errors of AWS for credentials that have ended, or were replaced: their types, and the texts
// of responses without a type.
var expired = []string{"ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId", "security token included in the request is"}

// Rejected reports whether a response rejects the credentials, and drops them: Ready gets new ones.
func (a *AWS) Rejected(resp *http.Response) bool {
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what was read is enough
	resp.Body = &restored{io.MultiReader(bytes.NewReader(said), resp.Body), resp.Body}
	if text := resp.Header.Get("X-Amzn-Errortype") + string(said); !slices.ContainsFunc(expired, func(e string) bool { return strings.Contains(text, e) }) {
		return false
	}
	limited, cancel := limit(resp.Request.Context())
	defer cancel()
	now, err := a.Config.Credentials.Retrieve(limited)
	cached, ok := a.Config.Credentials.(interface{ Invalidate() })
	// Another request may have replaced them meanwhile.
	if ok && err == nil && strings.Contains(resp.Request.Header.Get("Authorization"), "Credential="+now.AccessKeyID+"/") {
		cached.Invalidate()
	}
	return ok
}

// restored is a body whose start was read.
type restored struct {
	io.Reader
	io.Closer
}

// webIdentity provides the credentials of a role for an OIDC token.
type webIdentity struct {
	Options
	role string
	sts  *sts.Client
}

// Retrieve implements [aws.CredentialsProvider].
func (w *webIdentity) Retrieve(ctx context.Context) (aws.Credentials, error) {
	audience := awsAudience
	if strings.HasPrefix(w.role, "arn:aws-cn:") {
		audience = chinaAudience
	}
	token, err := w.idToken(ctx, audience)
	if err != nil {
		return aws.Credentials{}, err
	}
	issued, err := w.sts.AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: &w.role, RoleSessionName: aws.String(sessionName), WebIdentityToken: &token,
	})
	if err != nil {
		return aws.Credentials{}, err
	}
	c := issued.Credentials
	if c == nil || c.AccessKeyId == nil || c.SecretAccessKey == nil || c.Expiration == nil {
		return aws.Credentials{}, errors.New("the response of AWS STS has no credentials")
	}
	return aws.Credentials{
		AccessKeyID: *c.AccessKeyId, SecretAccessKey: *c.SecretAccessKey, SessionToken: aws.ToString(c.SessionToken),
		Source: "millhand", CanExpire: true, Expires: *c.Expiration,
	}, nil
}

// held announces new secrets before they are used.
type held struct {
	aws.CredentialsProvider
	hold func(string)

	mu   sync.Mutex
	last string
}

// Retrieve implements [aws.CredentialsProvider].
func (h *held) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := h.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := strings.Join([]string{c.SecretAccessKey, c.SessionToken}, " "); now != h.last {
		h.hold(c.SecretAccessKey)
		if c.SessionToken != "" {
			h.hold(c.SessionToken)
		}
		h.last = now
	}
	return c, nil
}

// Invalidate drops the credentials, if they are cached.
func (h *held) Invalidate() {
	if cached, ok := h.CredentialsProvider.(interface{ Invalidate() }); ok {
		cached.Invalidate()
	}
}

// statusOf returns the HTTP status in an error of a cloud's SDK; 0 for none.
func statusOf(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return googleStatus(err)
}
