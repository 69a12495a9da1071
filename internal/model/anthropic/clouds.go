package anthropic

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/auth/bearer"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/wire"
)

// Bedrock returns a model of Amazon Bedrock: the SDK signs requests with the credentials of conf, or
// sends the key of the options as a bearer token. The base URL has no path.
func Bedrock(o wire.Options, d Dialect, conf aws.Config) model.Model {
	if o.APIKey != "" || o.Keys != nil {
		key := func(ctx context.Context) (string, error) { return o.APIKey, nil }
		if o.Keys != nil {
			key = o.Keys.Key
		}
		conf.Credentials, conf.AuthSchemePreference = nil, []string{"httpBearerAuth"}
		conf.BearerAuthTokenProvider = bearer.TokenProviderFunc(func(ctx context.Context) (bearer.Token, error) {
			value, err := key(ctx)
			return bearer.Token{Value: value}, err
		})
	}
	line, opts := connect(o, "")
	return open(line, opts, o.Model, d, bedrock.WithConfig(conf), option.WithBaseURL(line.Base))
}
