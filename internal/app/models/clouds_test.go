package models

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/internal/testing/logintest"
	"github.com/millhand/millhand/tasks"
)

// ofProcess returns the models of a plan, with an environment that the SDKs of clouds see, too.
func ofProcess(t *testing.T, p *tasks.Plan, env map[string]string) *Set {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "ACTIONS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	for name, value := range env {
		t.Setenv(name, value)
	}
	return withPrices(p, process{getenv: os.Getenv, now: time.Now}, prices.BuiltIn())
}

// A machine without credentials of AWS is reported before a run.
func TestCredentialsOfTheMachine(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}, "m: login to AWS failed: no credentials in the environment, the files of AWS or the metadata service of the machine: set AWS_ACCESS_KEY_ID or AWS_PROFILE, or login: {role: ARN} for a job with an OIDC token"},
		{map[string]string{"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s", "AWS_EC2_METADATA_DISABLED": "true"}, ""},
		{map[string]string{"AWS_BEARER_TOKEN_BEDROCK": "key-of-bedrock", "AWS_EC2_METADATA_DISABLED": "true"}, ""},
	} {
		j := job("a", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", 0)
		j.ModelName = "m"
		test.env["AWS_REGION"] = "eu-west-1"
		m := ofProcess(t, &tasks.Plan{Jobs: []tasks.Job{j}}, test.env)
		if err := m.Check(); err != nil {
			t.Error(err)
		}
		if err := m.Found(t.Context()); test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%v: error %v, want %q", test.env, err, test.want)
		}
	}
}

func TestLoginsOfClouds(t *testing.T) {
	const claude = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"
	region := map[string]string{"AWS_REGION": "eu-west-1"}
	key := map[string]string{"AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "key-of-bedrock"}
	gateway := func(p tasks.Provider) map[string]tasks.Provider {
		p.BaseURL = "https://gateway.test"
		return map[string]tasks.Provider{"bedrock": p}
	}
	for _, test := range []struct {
		name      string
		env       map[string]string
		providers map[string]tasks.Provider
		want      string // in the error; "" for none
	}{
		{"the region", region, nil, ""},
		{"no region", nil, nil, claude + ": missing region of AWS: set AWS_REGION"},
		{"the region of the manifest", nil, map[string]tasks.Provider{"bedrock": {Region: "eu-west-1"}}, ""},
		{"a role without a token", region, map[string]tasks.Provider{"bedrock": {Login: &tasks.Login{Role: logintest.Role}}}, "missing OIDC token"},
		{"a key", key, nil, ""},
		{"a key and a login", key, map[string]tasks.Provider{"bedrock": {Login: &tasks.Login{}}}, "the SDK of AWS would send the key in AWS_BEARER_TOKEN_BEDROCK"},
		{"another key", key, map[string]tasks.Provider{"bedrock": {KeyEnv: "AWS_REGION"}}, "unset that variable"},
		{"a server of the manifest", region, gateway(tasks.Provider{}), "credentials of AWS are not sent to gateway.test: add login: {}"},
		{"a server of the manifest, with a login", region, gateway(tasks.Provider{Login: &tasks.Login{}}), ""},
		{"a server of the manifest, with a key", region, gateway(tasks.Provider{KeyEnv: "AWS_REGION"}), ""},
		{"a host of AWS", region, map[string]tasks.Provider{"bedrock": {BaseURL: "https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com"}}, ""},
		{"a host that looks like AWS", region, map[string]tasks.Provider{"bedrock": {BaseURL: "https://bedrock.amazonaws.com.evil.test"}}, "not sent to bedrock.amazonaws.com.evil.test"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := ofProcess(t, &tasks.Plan{Jobs: []tasks.Job{job("a", claude, 0)}, Providers: test.providers}, test.env).Check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestLoginsOfGoogle(t *testing.T) {
	env := map[string]string{"CLOUD_ML_REGION": "global", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_APPLICATION_CREDENTIALS": "/dev/null"}
	for _, test := range []struct{ unset, value, want string }{
		{"", "", ""},
		{"CLOUD_ML_REGION", "", "missing region of Google Cloud: set CLOUD_ML_REGION"},
		{"GOOGLE_CLOUD_PROJECT", "", "missing project of Google Cloud: set ANTHROPIC_VERTEX_PROJECT_ID"},
		{"GOOGLE_CLOUD_PROJECT", "p/x", "invalid project"},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent", "login to Google Cloud failed: stat /nonexistent"},
	} {
		set := maps.Clone(env)
		set[test.unset] = test.value
		m := newSet(&tasks.Plan{Jobs: []tasks.Job{job("a", "vertex/claude-sonnet-4-6", 0)}}, set)
		err := m.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.unset, err, test.want)
		}
		if l := m.Logins(); test.want == "" && (len(l) != 1 || l[0].Source != "the file in GOOGLE_APPLICATION_CREDENTIALS") {
			t.Errorf("logins %+v", l)
		}
	}
}

func TestLoginsOfAzure(t *testing.T) {
	const none = "missing API key for azure/gpt-5: set the environment variable AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN"
	application := &tasks.Login{TenantID: logintest.TenantID, ClientID: logintest.ClientID}
	elsewhere := "https://gateway.test/v1"
	own := "https://mine.OpenAI.azure.com"
	for _, test := range []struct {
		name     string
		env      map[string]string
		provider *tasks.Provider
		want     string // in the error; "" for none
		source   string // of the login; "" for none
	}{
		{"nothing", nil, nil, none, ""},
		{"a key", map[string]string{"AZURE_OPENAI_API_KEY": "k", "AZURE_CLIENT_ID": "c"}, nil, "", ""},
		{"an application", map[string]string{"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_CLIENT_SECRET": "s"}, nil, "", "the application in AZURE_CLIENT_ID with AZURE_CLIENT_SECRET"},
		{"a tenant", map[string]string{"AZURE_TENANT_ID": "t"}, nil, "", "the managed identity of the machine or the Azure CLI"},
		{"a login", nil, &tasks.Provider{Login: &tasks.Login{}}, "", "the managed identity of the machine or the Azure CLI"},
		{"a login beside the variable of a key", map[string]string{"AZURE_OPENAI_API_KEY": "k"}, &tasks.Provider{Login: &tasks.Login{}}, "", "the managed identity of the machine or the Azure CLI"},
		{"a login for one of the APIs", nil, &tasks.Provider{Kind: "responses", Login: &tasks.Login{}}, "", "the managed identity of the machine or the Azure CLI"},
		{"selected credentials", map[string]string{"AZURE_TOKEN_CREDENTIALS": "dev"}, &tasks.Provider{Login: &tasks.Login{}}, "", "the credentials that AZURE_TOKEN_CREDENTIALS selects"},
		{"no token of the job", nil, &tasks.Provider{Login: application}, "azure/gpt-5: missing OIDC token", ""},
		{"a token of the job", map[string]string{"T": "x"}, &tasks.Provider{Login: &tasks.Login{TenantID: "t", ClientID: "c", TokenEnv: "T"}}, "", "the application c for the OIDC token in T"},
		{"no application", map[string]string{"T": "x"}, &tasks.Provider{Login: &tasks.Login{TokenEnv: "T"}}, "missing tenant or application of Azure", ""},
		{"a host of Azure", map[string]string{"AZURE_TENANT_ID": "t"}, &tasks.Provider{BaseURL: own}, "", "the managed identity of the machine or the Azure CLI"},
		{"a host of Azure beside the variable of a key", map[string]string{"AZURE_TENANT_ID": "t", "AZURE_OPENAI_API_KEY": "k"}, &tasks.Provider{BaseURL: own}, "", "the managed identity of the machine or the Azure CLI"},
		{"a host of Azure with the variable of a key", map[string]string{"AZURE_OPENAI_API_KEY": "k"}, &tasks.Provider{BaseURL: own}, "", ""},
		{"a host of Azure and its header", map[string]string{"AZURE_TENANT_ID": "t"}, &tasks.Provider{BaseURL: own, Headers: map[string]string{"api-key": "k"}}, "", ""},
		{"a host of Azure without anything", nil, &tasks.Provider{BaseURL: own}, "", ""},
		{"a server of the manifest", map[string]string{"AZURE_TENANT_ID": "t"}, &tasks.Provider{BaseURL: elsewhere}, "", ""},
		{"a host that looks like Azure", map[string]string{"AZURE_TENANT_ID": "t"}, &tasks.Provider{BaseURL: own + ".evil.test"}, "", ""},
		{"a host of Azure without encryption", map[string]string{"AZURE_TENANT_ID": "t"}, &tasks.Provider{BaseURL: "http://mine.openai.azure.com"}, "", ""},
		{"a server of the manifest, with a login", nil, &tasks.Provider{BaseURL: elsewhere, Login: &tasks.Login{}}, "", "the managed identity of the machine or the Azure CLI"},
		{"a key of the manifest", map[string]string{"AZURE_TENANT_ID": "t", "K": "k"}, &tasks.Provider{KeyEnv: "K"}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := map[string]string{"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com"}
			maps.Copy(env, test.env)
			p := &tasks.Plan{Jobs: []tasks.Job{job("a", "azure/gpt-5", 0)}}
			if test.provider != nil {
				p.Providers = map[string]tasks.Provider{"azure": *test.provider}
			}
			m := newSet(p, env)
			if err := m.Check(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if l := m.Logins(); test.want == "" && (test.source == "" && len(l) != 0 || test.source != "" && (len(l) != 1 || l[0].Source != test.source)) {
				t.Errorf("logins %+v, want %q", l, test.source)
			}
		})
	}
	// Without an endpoint, the variables are those of other tools.
	tools := map[string]string{"AZURE_TENANT_ID": "t"}
	if l := CloudLogins(func(name string) string { return tools[name] }); len(l) != 0 {
		t.Errorf("logins %+v", l)
	}
	tools["AZURE_OPENAI_ENDPOINT"] = "https://mine.openai.azure.com"
	if l := CloudLogins(func(name string) string { return tools[name] }); len(l) != 1 || l[0].Err != nil {
		t.Errorf("logins %+v", l)
	}
}

// Models of clouds cost what their makers take, and a surcharge in one region.
func TestPricesOfClouds(t *testing.T) {
	usage := money.Usage{Input: 1_000_000}
	for name, want := range map[string]money.USD{
		"vertex/claude-sonnet-4-6":                             33 * money.Dollar / 10,
		"vertex/claude-haiku-4-5@20251001":                     11 * money.Dollar / 10,
		"vertex/claude-opus-4-1@20250805":                      15 * money.Dollar,
		"bedrock/global.anthropic.claude-sonnet-4-6":           3 * money.Dollar,
		"bedrock/us.anthropic.claude-sonnet-4-6":               33 * money.Dollar / 10,
		"bedrock/anthropic.claude-sonnet-4-6":                  33 * money.Dollar / 10,
		"bedrock/anthropic.claude-3-haiku-20240307-v1:0":       money.Dollar / 4,
		"bedrock/apac.anthropic.claude-sonnet-4-20250514-v1:0": 3 * money.Dollar,
		"bedrock/eu.anthropic.claude-opus-4-1-20250805-v1:0":   15 * money.Dollar,
		"bedrock/eu.anthropic.claude-opus-4-8":                 55 * money.Dollar / 10,
		"bedrock/arn:aws:bedrock:eu-west-1:123456789012:inference-profile/global.anthropic.claude-haiku-4-5-20251001-v1:0": money.Dollar,
		"bedrock/arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0":     11 * money.Dollar / 10,
	} {
		m := newSet(&tasks.Plan{}, nil)
		p, known := m.costs().price(name, name)
		if !known {
			t.Errorf("%s: unknown", name)
			continue
		}
		if got, ok := m.costs().cost(name, p, usage); !ok || got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, ok, want)
		}
		if most := m.quotes([]tasks.Model{{ID: name, Name: name}}).Most(usage, m.now()); most != want {
			t.Errorf("%s: at most %v, want %v", name, most, want)
		}
	}
	global := newSet(&tasks.Plan{}, map[string]string{"CLOUD_ML_REGION": "global"})
	p, _ := global.costs().price("vertex/claude-sonnet-4-6", "")
	if got, _ := global.costs().cost("vertex/claude-sonnet-4-6", p, usage); got != 3*money.Dollar {
		t.Errorf("everywhere: %v", got)
	}
	if _, known := newSet(&tasks.Plan{}, nil).costs().price("bedrock/amazon.nova-pro-v1:0", ""); known {
		t.Error("a model of another maker has a price")
	}
}
