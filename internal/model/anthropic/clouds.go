package anthropic

import (
	"context"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/vertex"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/auth/bearer"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// Bedrock returns a model of Amazon Bedrock: the SDK signs requests with the credentials of conf, or
// sends the key of the options as a bearer token. The base URL has no path.
func Bedrock(o wire.Options, d Dialect, conf aws.Config) model.Model {
	if o.APIKey != "" || o.Keys != nil {
		conf.Credentials, conf.AuthSchemePreference = nil, []string{"httpBearerAuth"}
		conf.BearerAuthTokenProvider = bearer.TokenProviderFunc(func(ctx context.Context) (bearer.Token, error) {
			if o.Keys == nil {
				return bearer.Token{Value: o.APIKey}, nil
			}
			value, err := o.Keys.Key(ctx)
			return bearer.Token{Value: value}, err
		})
	}
	line, opts := connect(o, "")
	return open(line, opts, o.Model, d, bedrock.WithConfig(conf), option.WithBaseURL(line.Base))
}

// Vertex returns a model of Google Cloud's Vertex AI in a project and region. The key of the
// options is an access token. The base URL has no path. Variables of Google's library can be wrong.
func Vertex(o wire.Options, d Dialect, region, project string) (made model.Model, err error) {
	defer func() { // the SDK panics with the error of that library
		if r := recover(); r != nil {
			err = fmt.Errorf("connect to Google Cloud: %v; check the variables GOOGLE_API_USE_* and GOOGLE_CLOUD_UNIVERSE_DOMAIN", r)
		}
	}()
	line, opts := connect(o, "")
	credentials := &google.Credentials{TokenSource: tokens{o}}
	return open(line, opts, o.Model, d, vertex.WithCredentials(context.Background(), region, project, credentials), option.WithBaseURL(line.Base)), nil
}

// tokens gives the SDK the access token that package wire has awaited before, within the time
// limit of the request.
type tokens struct{ wire.Options }

// Token implements [oauth2.TokenSource].
func (t tokens) Token() (*oauth2.Token, error) {
	if t.Keys == nil {
		return &oauth2.Token{AccessToken: t.APIKey}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), tokenTime)
	defer cancel()
	key, err := t.Keys.Key(ctx)
	return &oauth2.Token{AccessToken: key}, err
}

// tokenTime is long enough for a token that expired just now.
const tokenTime = time.Minute
