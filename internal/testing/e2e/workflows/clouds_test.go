package workflows

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// TestTheExamplesOfCloudsNeedNoKey validates their manifests with the OIDC token of the CI alone, as the job has
// it, and without it.
func TestTheExamplesOfCloudsNeedNoKey(t *testing.T) {
	dir := scripts.Root(t) + "/examples/clouds/"
	var pipeline map[string]struct {
		IDTokens map[string]struct{ Aud string } `yaml:"id_tokens"`
		Script   []string
	}
	if err := yaml.Unmarshal([]byte(read(t, dir+"gitlab/.gitlab-ci.yml")), &pipeline); err != nil {
		t.Fatal(err)
	}
	github := []string{"ACTIONS_ID_TOKEN_REQUEST_URL=https://example.com/token", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=t"}
	for manifest, tt := range map[string]struct{ job, token, audience string }{
		"aws.yaml": {}, "google.yaml": {}, "azure.yaml": {},
		"gitlab/aws.yaml":    {"aws", "AWS_ID_TOKEN", "sts.amazonaws.com"},
		"gitlab/google.yaml": {"google", "GOOGLE_ID_TOKEN", "https://iam.googleapis.com/projects/42/locations/global/workloadIdentityPools/ci/providers/gitlab"},
	} {
		t.Run(manifest, func(t *testing.T) {
			t.Parallel()
			with, login := github, "for the OIDC token of GitHub, not tried"
			if tt.job != "" {
				with, login = []string{tt.token + "=t"}, "for the OIDC token in "+tt.token+", not tried"
				job := pipeline[tt.job]
				if job.IDTokens[tt.token].Aud != tt.audience || !strings.Contains(strings.Join(job.Script, " "), " "+filepath.Base(manifest)+" ") {
					t.Errorf("the job %s: %+v", tt.job, job)
				}
			}
			if out, err := validateAlone(t, dir+manifest, with); err != nil || !strings.Contains(out, login) {
				t.Errorf("with the token: %v\n%s", err, out)
			}
			if out, _ := validateAlone(t, dir+manifest, nil); strings.Contains(out, login) || !strings.Contains(out, "missing") {
				t.Errorf("without the token:\n%s", out)
			}
		})
	}
}

// validateAlone validates a manifest with the variables of a CI and no others.
func validateAlone(t *testing.T, manifest string, env []string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "millhand", "validate", manifest)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CI=true"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
