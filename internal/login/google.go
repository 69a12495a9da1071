package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/google/externalaccount"

	"github.com/millhand/millhand/internal/files/abandon"
	"github.com/millhand/millhand/internal/proc/keys"
)

const (
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	jwtType     = "urn:ietf:params:oauth:token-type:jwt"
)

// Tokens is a login whose credentials are access tokens.
type Tokens struct {
	Keys   *keys.Source
	Source string // where the credentials come from, for people
}

// Google returns a login to Google Cloud with the identity provider of the options, or else with
// the application default credentials. It sends nothing.
func (o Options) Google() (*Tokens, error) {
	source := "the metadata service of the machine"
	if o.IdentityProvider != "" {
		if err := o.check(); err != nil {
			return nil, err
		}
		from, _ := o.federated()
		source = "the identity provider " + o.IdentityProvider + " for " + from
	} else if name, file := o.first("GOOGLE_APPLICATION_CREDENTIALS"); name != "" {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("login to Google Cloud failed: %w", err)
		}
		source = "the file in " + name
	} else if _, err := os.Stat(o.wellKnown()); err == nil {
		source = "the application default credentials of gcloud"
	}
	return &Tokens{Source: source, Keys: o.tokens("Google Cloud", func(ctx context.Context) (string, time.Time, error) {
		token, err := abandon.When(ctx, func() (*oauth2.Token, error) { return o.googleToken(ctx) })
		if err != nil {
			return "", time.Time{}, err
		}
		return token.AccessToken, token.Expiry, nil
	})}, nil
}

// wellKnown is the path of the application default credentials of gcloud.
func (o Options) wellKnown() string {
	return filepath.Join(cmp.Or(o.Getenv("CLOUDSDK_CONFIG"), filepath.Join(o.Getenv("HOME"), ".config", "gcloud")), "application_default_credentials.json")
}

// googleToken returns a new access token.
func (o Options) googleToken(ctx context.Context) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, o.client())
	if o.IdentityProvider == "" {
		found, err := google.FindDefaultCredentials(ctx, googleScope)
		if err != nil {
			return nil, errors.New("no credentials in GOOGLE_APPLICATION_CREDENTIALS, the files of gcloud or the metadata service of the machine")
		}
		return found.TokenSource.Token()
	}
	conf := externalaccount.Config{
		Audience: "//iam.googleapis.com/" + o.IdentityProvider, SubjectTokenType: jwtType, Scopes: []string{googleScope},
		SubjectTokenSupplier: supplier{o},
	}
	if o.ServiceAccount != "" {
		conf.ServiceAccountImpersonationURL = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" + o.ServiceAccount + ":generateAccessToken"
	}
	source, err := externalaccount.NewTokenSource(ctx, conf)
	if err != nil {
		return nil, err
	}
	return source.Token()
}

// supplier supplies the OIDC token of the CI job.
type supplier struct{ Options }

// SubjectToken implements [externalaccount.SubjectTokenSupplier].
func (s supplier) SubjectToken(ctx context.Context, _ externalaccount.SupplierOptions) (string, error) {
	return s.idToken(ctx, "https://iam.googleapis.com/"+s.IdentityProvider)
}

// googleStatus returns the HTTP status in an error of Google's library; 0 for none.
func googleStatus(err error) int {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return refused.Response.StatusCode
	}
	return 0
}
