package login

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/proc/keys"
	"github.com/millhand/millhand/internal/testing/logintest"
)

// cloudless removes the clouds of this machine from the environment of a test, and sets
// other variables.
func cloudless(t *testing.T, env map[string]string) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"AWS_", "GOOGLE_", "AZURE_", "ACTIONS_", "CLOUDSDK_", "GCE_"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "") // to restore it
				if err := os.Unsetenv(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Setenv("HOME", t.TempDir())
	for name, value := range env {
		t.Setenv(name, value)
	}
}

// serve starts a server of clouds.
func serve(t *testing.T) (*logintest.Clouds, string) {
	t.Helper()
	clouds := logintest.New(http.NotFoundHandler())
	server := httptest.NewServer(clouds)
	t.Cleanup(server.Close)
	return clouds, server.URL
}

// options describe a login that keeps the secrets it announces.
func options(o Options) (Options, *[]string) {
	held := &[]string{}
	o.Getenv, o.Now, o.Hold = os.Getenv, time.Now, func(secret string) { *held = append(*held, secret) }
	return o, held
}

func githubJob(url string) map[string]string {
	return map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_STS": url, githubURL: url + "/oidc?api-version=2.0", githubToken: logintest.JobToken}
}

func TestAWSAssumesARoleWithTheTokenOfTheJob(t *testing.T) {
	clouds, url := serve(t)
	for _, test := range []struct {
		name string
		env  map[string]string
		o    Options
		from string
	}{
		{"the role of the manifest", nil, Options{Role: logintest.Role}, "the OIDC token of GitHub"},
		{"the role of the environment", map[string]string{"AWS_ROLE_ARN": logintest.Role}, Options{}, "the OIDC token of GitHub"},
		{"a role of GovCloud", map[string]string{"AWS_REGION": "us-gov-west-1"}, Options{Role: logintest.GovRole}, "the OIDC token of GitHub"},
		{"a role of China", map[string]string{"AWS_REGION": "cn-north-1"}, Options{Role: logintest.ChinaRole}, "the OIDC token of GitHub"},
		{"the token of GitLab", map[string]string{"AWS_ID_TOKEN": logintest.IDToken(awsAudience), githubURL: "", githubToken: ""}, Options{Role: logintest.Role, TokenEnv: "AWS_ID_TOKEN"}, "the OIDC token in AWS_ID_TOKEN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cloudless(t, githubJob(url))
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			o, held := options(test.o)
			a, err := o.AWS()
			if err != nil {
				t.Fatal(err)
			}
			if want := "the role " + cmp.Or(test.o.Role, logintest.Role) + " for " + test.from; a.Source != want {
				t.Errorf("source %q, want %q", a.Source, want)
			}
			before := clouds.Issued("aws")
			for range 3 {
				if err := a.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			c, err := a.Config.Credentials.Retrieve(t.Context())
			if err != nil || c.AccessKeyID != logintest.AccessID || c.SecretAccessKey != logintest.Secret || c.SessionToken != logintest.Session {
				t.Errorf("credentials %+v, %v", c, err)
			}
			if n := clouds.Issued("aws") - before; n != 1 {
				t.Errorf("%d credentials were issued", n)
			}
			token := logintest.IDToken(map[bool]string{true: chinaAudience, false: awsAudience}[test.o.Role == logintest.ChinaRole])
			for _, secret := range []string{token, logintest.Secret, logintest.Session} {
				if !slices.Contains(*held, secret) {
					t.Errorf("%s is not redacted", secret)
				}
			}
		})
	}
	for _, p := range clouds.Problems() {
		t.Error(p)
	}
}

func TestAWSLoginsThatFail(t *testing.T) {
	_, url := serve(t)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer down.Close()
	for _, test := range []struct {
		name, want string
		env        map[string]string
		o          Options
		opens      bool // the error is one of Ready
		later      bool
	}{
		{"no region", "missing region of AWS: set AWS_REGION", map[string]string{"AWS_REGION": ""}, Options{}, false, false},
		{"no token", `missing OIDC token: add "permissions: {id-token: write}"`, map[string]string{githubURL: ""}, Options{Role: logintest.Role}, false, false},
		{"no variable", "the OIDC token in NOPE is missing", nil, Options{Role: logintest.Role, TokenEnv: "NOPE"}, false, false},
		{"no profile", "login to AWS failed: failed to get shared config profile, nope", map[string]string{"AWS_PROFILE": "nope"}, Options{}, false, false},
		{"another role", "api error AccessDenied: not authorized to assume " + logintest.Role + "x", nil, Options{Role: logintest.Role + "x"}, true, false},
		{"a wrong job", "request an OIDC token: the server responded with 401", map[string]string{githubToken: "x"}, Options{Role: logintest.Role}, true, false},
		{"an outage of GitHub", "the server responded with 503", map[string]string{githubURL: down.URL + "/?x"}, Options{Role: logintest.Role}, true, true},
		{"a closed port", "connection refused", map[string]string{githubURL: "http://127.0.0.1:1/?x"}, Options{Role: logintest.Role}, true, true},
		{"nothing", "no credentials in the environment, the files of AWS or the metadata service", map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, Options{}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			cloudless(t, githubJob(url))
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			o, _ := options(test.o)
			a, err := o.AWS()
			if (err == nil) != test.opens {
				t.Fatalf("error %v", err)
			}
			if err == nil {
				err = a.Ready(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if errors.As(err, new(*keys.Unavailable)) != test.later {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}

// Services have names of their own in the partitions of AWS, and with FIPS.
func TestURLsOfAWS(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1":      "https://bedrock-runtime.eu-west-1.amazonaws.com",
		"us-east-1":      "https://bedrock-runtime.us-east-1.amazonaws.com",
		"us-gov-west-1":  "https://bedrock-runtime.us-gov-west-1.amazonaws.com",
		"cn-north-1":     "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
		"eusc-de-east-1": "https://bedrock-runtime.eusc-de-east-1.amazonaws.eu",
		"us-iso-east-1":  "https://bedrock-runtime.us-iso-east-1.c2s.ic.gov",
		"xx-new-9":       "https://bedrock-runtime.xx-new-9.amazonaws.com",
	} {
		for fips, service := range map[string]string{"": "bedrock-runtime", "false": "bedrock-runtime", "true": "bedrock-runtime-fips"} {
			cloudless(t, map[string]string{"AWS_REGION": region, "AWS_USE_FIPS_ENDPOINT": fips})
			o, _ := options(Options{})
			a, err := o.AWS()
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(want, "bedrock-runtime", service, 1); a.URL("bedrock-runtime") != want {
				t.Errorf("%s, FIPS %q: %s, want %s", region, fips, a.URL("bedrock-runtime"), want)
			}
		}
	}
}

func TestAWSDescribesItsSource(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s"}, "AWS_ACCESS_KEY_ID"},
		{map[string]string{"AWS_PROFILE": "ci"}, "the profile ci"},
		{map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/x"}, "the container"},
		{map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/nope", "AWS_ROLE_ARN": logintest.Role}, "the role in AWS_ROLE_ARN for the OIDC token in AWS_WEB_IDENTITY_TOKEN_FILE"},
		{nil, "the metadata service of the machine"},
	} {
		cloudless(t, map[string]string{"AWS_REGION": "us-east-1"})
		config := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(config, []byte("[profile ci]\nregion = eu-west-3\ncredential_process = /bin/false\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_CONFIG_FILE", config)
		for name, value := range test.env {
			t.Setenv(name, value)
		}
		o, _ := options(Options{})
		a, err := o.AWS()
		if err != nil || a.Source != test.want {
			t.Errorf("%v: %+v, %v, want %s", test.env, a, err, test.want)
		}
	}
}

func TestALoginEndsWithItsContext(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer server.Close()
	defer close(hung)
	cloudless(t, map[string]string{"AWS_REGION": "us-east-1", githubURL: server.URL, githubToken: "x"})
	o, _ := options(Options{Role: logintest.Role})
	a, err := o.AWS()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.Ready(ctx); err == nil {
		t.Error("a login without a response succeeded")
	}
}
