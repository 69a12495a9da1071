package workflows

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/e2e/scripts"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

// kubeObject has the fields that examples/kubernetes uses of Deployments, Jobs and
// PersistentVolumeClaims; an unknown one is a mistake.
type kubeObject struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   kubeMeta `yaml:"metadata"`
	Spec       struct {
		// Of a Deployment.
		Replicas int `yaml:"replicas"`
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"selector"`
		Template *struct {
			Metadata kubeMeta `yaml:"metadata"`
			Spec     kubePod  `yaml:"spec"`
		} `yaml:"template"`

		kubeJob `yaml:",inline"`

		// Of a PersistentVolumeClaim.
		AccessModes []string      `yaml:"accessModes"`
		Resources   kubeResources `yaml:"resources"`
	} `yaml:"spec"`
}

type kubeMeta struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

type kubeResources struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits"`
}

type kubeJob struct {
	CompletionMode       string `yaml:"completionMode"`
	Completions          int    `yaml:"completions"`
	Parallelism          int    `yaml:"parallelism"`
	BackoffLimit         *int   `yaml:"backoffLimit"`
	BackoffLimitPerIndex *int   `yaml:"backoffLimitPerIndex"`
	PodReplacementPolicy string `yaml:"podReplacementPolicy"`
	PodFailurePolicy     *struct {
		Rules []struct {
			Action      string `yaml:"action"`
			OnExitCodes *struct {
				ContainerName string       `yaml:"containerName"`
				Operator      string       `yaml:"operator"`
				Values        []event.Exit `yaml:"values"`
			} `yaml:"onExitCodes"`
			OnPodConditions []struct {
				Type   string `yaml:"type"`
				Status string `yaml:"status"`
			} `yaml:"onPodConditions"`
		} `yaml:"rules"`
	} `yaml:"podFailurePolicy"`
}

type kubePod struct {
	RestartPolicy   string          `yaml:"restartPolicy"`
	Automount       *bool           `yaml:"automountServiceAccountToken"`
	ServiceLinks    *bool           `yaml:"enableServiceLinks"`
	Grace           int             `yaml:"terminationGracePeriodSeconds"`
	HostUsers       *bool           `yaml:"hostUsers"`
	SecurityContext kubeSecurity    `yaml:"securityContext"`
	Containers      []kubeContainer `yaml:"containers"`
	Volumes         []struct {
		Name      string                 `yaml:"name"`
		ConfigMap *struct{ Name string } `yaml:"configMap"`
		EmptyDir  *struct{}              `yaml:"emptyDir"`
		PVC       *struct {
			ClaimName string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
	} `yaml:"volumes"`
}

type kubeContainer struct {
	Name    string   `yaml:"name"`
	Image   string   `yaml:"image"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	Env     []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	EnvFrom []struct {
		SecretRef struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Resources       kubeResources `yaml:"resources"`
	SecurityContext kubeSecurity  `yaml:"securityContext"`
	VolumeMounts    []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

// kubeSecurity is the securityContext of a pod or of a container.
type kubeSecurity struct {
	RunAsNonRoot             bool                    `yaml:"runAsNonRoot"`
	RunAsUser                int                     `yaml:"runAsUser"`
	RunAsGroup               int                     `yaml:"runAsGroup"`
	FSGroup                  int                     `yaml:"fsGroup"`
	AllowPrivilegeEscalation *bool                   `yaml:"allowPrivilegeEscalation"`
	ReadOnlyRootFilesystem   bool                    `yaml:"readOnlyRootFilesystem"`
	Capabilities             struct{ Drop []string } `yaml:"capabilities"`
	Seccomp                  struct{ Type string }   `yaml:"seccompProfile"`
	AppArmor                 struct{ Type string }   `yaml:"appArmorProfile"`
	ProcMount                string                  `yaml:"procMount"`
}

// kubeObjects returns the objects of a file of examples/kubernetes, by kind.
func kubeObjects(t *testing.T, file string) map[string]kubeObject {
	t.Helper()
	all := map[string]kubeObject{}
	for doc := range strings.SplitSeq(read(t, filepath.Join(scripts.Root(t), "examples/kubernetes", file)), "\n---\n") {
		var o kubeObject
		dec := yaml.NewDecoder(strings.NewReader(doc))
		dec.KnownFields(true)
		if err := dec.Decode(&o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[o.Kind] = o
	}
	return all
}

// checkPod reports settings that lack, and names that are not defined.
func checkPod(t *testing.T, file string, pod kubePod) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.ConfigMap != nil || v.EmptyDir != nil || v.PVC != nil
	}
	isFalse := func(b *bool) bool { return b != nil && !*b }
	if !isFalse(pod.Automount) || !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.RunAsUser == 0 {
		t.Errorf("%s: the pod has a service account, or runs as root", file)
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if !isFalse(s.AllowPrivilegeEscalation) || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s: the container %s has privileges: %+v", file, c.Name, s)
		}
		if c.Image == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
			t.Errorf("%s: the container %s has no image, or no limit of its memory", file, c.Name)
		}
		writable := map[string]bool{}
		for _, m := range c.VolumeMounts {
			writable[m.MountPath] = !m.ReadOnly
			if !volumes[m.Name] {
				t.Errorf("%s: the volume %s is not defined", file, m.Name)
			}
		}
		if !writable["/tmp"] { // TMPDIR and, in the image, HOME
			t.Errorf("%s: /tmp is not writable", file)
		}
		for _, e := range c.Env {
			if e.Name == "MILLHAND_CACHE_DIR" && !writable[e.Value] {
				t.Errorf("%s: %s is not writable", file, e.Value)
			}
		}
	}
}

// TestFilesOfKubernetes checks what the API server would refuse, and what the sandbox needs.
func TestFilesOfKubernetes(t *testing.T) {
	files, err := filepath.Glob(scripts.Root(t) + "/examples/kubernetes/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	versions := map[string]string{"Deployment": "apps/v1", "Job": "batch/v1", "PersistentVolumeClaim": "v1"}
	for _, file := range files {
		file = filepath.Base(file)
		for kind, o := range kubeObjects(t, file) {
			if o.APIVersion == "" || o.APIVersion != versions[kind] || o.Metadata.Name == "" {
				t.Errorf("%s: %s %s of version %q", file, kind, o.Metadata.Name, o.APIVersion)
			}
			if o.Spec.Template != nil {
				checkPod(t, file, o.Spec.Template.Spec)
			}
			if kind == "Job" && o.Spec.Template.Spec.RestartPolicy != "Never" {
				t.Errorf("%s: restartPolicy is %q", file, o.Spec.Template.Spec.RestartPolicy)
			}
		}
	}

	workers := kubeObjects(t, "workers.yaml")["Deployment"].Spec
	if !maps.Equal(workers.Selector.MatchLabels, workers.Template.Metadata.Labels) {
		t.Errorf("workers.yaml: the selector %v does not match %v", workers.Selector.MatchLabels, workers.Template.Metadata.Labels)
	}
	pod := workers.Template.Spec
	s := pod.Containers[0].SecurityContext
	if pod.HostUsers == nil || *pod.HostUsers || s.ProcMount != "Unmasked" || s.Seccomp.Type != "Unconfined" || s.AppArmor.Type != "Unconfined" {
		t.Errorf("workers.yaml: level A of the sandbox is not available: %+v", s)
	}
	if pod.Grace < 60 {
		t.Errorf("workers.yaml: a worker has %d s to return its jobs", pod.Grace)
	}
	claim := kubeObjects(t, "shards.yaml")["PersistentVolumeClaim"].Metadata.Name
	for _, file := range []string{"shards.yaml", "merge.yaml"} {
		found := false
		for _, v := range kubeObjects(t, file)["Job"].Spec.Template.Spec.Volumes {
			found = found || v.PVC != nil && v.PVC.ClaimName == claim
		}
		if !found {
			t.Errorf("%s: the reports are not on the volume %s", file, claim)
		}
	}
}

// kubeActions is what a Job does after a pod with an exit code. Whoever adds a code decides it here,
// and in the table of examples/kubernetes/README.md.
var kubeActions = map[event.Exit]string{
	event.ExitFailed:      "FailIndex",
	event.ExitUsage:       "FailIndex",
	event.ExitPolicy:      "FailIndex",
	event.ExitLimit:       "FailIndex",
	event.ExitBudget:      "FailIndex",
	event.ExitAuth:        "FailIndex",
	event.ExitDeadline:    "FailIndex",
	event.ExitPublish:     "Count",
	event.ExitInternal:    "Count",
	event.ExitUnavailable: "Count",
	event.ExitInterrupt:   "Ignore",
	event.ExitTerminate:   "Ignore",
}

// TestPodFailurePolicy compares the rules of the Job with the exit codes.
func TestPodFailurePolicy(t *testing.T) {
	job := kubeObjects(t, "shards.yaml")["Job"].Spec
	if job.CompletionMode != "Indexed" || job.BackoffLimitPerIndex == nil || job.BackoffLimit != nil || job.PodReplacementPolicy != "Failed" {
		t.Errorf("FailIndex is not permitted, or two pods could run a shard: %+v", job.kubeJob)
	}
	page := read(t, filepath.Join(scripts.Root(t), "examples/kubernetes/README.md"))
	rules := job.PodFailurePolicy.Rules
	if len(rules) == 0 || rules[0].Action != "Ignore" || len(rules[0].OnPodConditions) != 1 || rules[0].OnPodConditions[0].Type != "DisruptionTarget" || rules[0].OnPodConditions[0].Status != "True" {
		t.Errorf("the first rule does not ignore evictions: %+v", rules)
	}
	got := map[event.Exit]string{}
	for _, r := range rules[1:] {
		c := r.OnExitCodes
		if c == nil || r.OnPodConditions != nil || c.Operator != "In" || c.ContainerName != job.Template.Spec.Containers[0].Name || !slices.IsSorted(c.Values) {
			t.Fatalf("rule %+v", r)
		}
		for _, code := range c.Values {
			got[code] += r.Action
		}
		row := strings.ReplaceAll(strings.Trim(fmt.Sprint(c.Values), "[]"), " ", ", ")
		if !strings.Contains(page, "\n| "+row+" | `"+r.Action+"` |") {
			t.Errorf("README.md has no row with %s and %s", row, r.Action)
		}
	}
	if !maps.Equal(got, kubeActions) {
		t.Errorf("the rules are %v, want %v", got, kubeActions)
	}
	for _, e := range event.Exits() {
		if e.Exit != event.ExitOK && kubeActions[e.Exit] == "" {
			t.Errorf("no rule for exit code %d: %s", e.Exit, e.Doc)
		}
	}
}

// runPod runs the container of a Job with its command, except that its volumes are in dir.
func runPod(t *testing.T, dir, file string, env ...string) (exit int, output string) {
	t.Helper()
	c := kubeObjects(t, file)["Job"].Spec.Template.Spec.Containers[0]
	var paths []string
	for _, m := range c.VolumeMounts {
		paths = append(paths, m.MountPath+"/", filepath.Join(dir, m.MountPath)+"/")
	}
	args := slices.Concat(c.Command, c.Args)
	args[len(args)-1] = strings.NewReplacer(paths...).Replace(args[len(args)-1])
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "tmp"), "TMPDIR=" + filepath.Join(dir, "tmp"), "MILLHAND_CACHE_DIR=" + filepath.Join(dir, "cache")}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// TestShardsOfKubernetes runs the pods of the Job, one of them twice, and merges their reports.
func TestShardsOfKubernetes(t *testing.T) {
	job := kubeObjects(t, "shards.yaml")["Job"].Spec
	shards := map[string]string{}
	for _, e := range job.Template.Spec.Containers[0].Env {
		shards[e.Name] = e.Value
	}
	if fmt.Sprint(job.Completions) != shards["SHARDS"] {
		t.Errorf("%d indexes for %s shards", job.Completions, shards["SHARDS"])
	}
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	dir := t.TempDir()
	manifest := "version: 1\nmodel: openai/gpt-5-mini\nprofile: edit\nrepos: [{url: \"file://" + filepath.Join(dir, "origin") + "\"}]\n" +
		"tasks: [{id: a, prompt: Write., matrix: {n: [1, 2, 3, 4]}, publish: {mode: push}}]\n"
	for _, sub := range []string{"reports", "cache", "tmp", "manifest"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest/millhand.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	scripts.MakeRepo(t, filepath.Join(dir, "origin"), map[string]string{"main.txt": "x\n"})
	turns := "version: 1\nturns:\n  - {calls: [{tool: write, args: {filePath: new.txt, content: x}}], usage: {input: 10, output: 10}}\n  - {text: Done., usage: {input: 10, output: 10}}\n"
	url := serveScript(t, turns, func(n int) wiretest.Fault {
		if n == 0 {
			return wiretest.Fault{Status: http.StatusUnauthorized}
		}
		return wiretest.Fault{}
	})
	pod := func(index int) int {
		exit, output := runPod(t, dir, "shards.yaml", "SHARDS=2", fmt.Sprint("JOB_COMPLETION_INDEX=", index), "OPENAI_API_KEY=sk-of-the-test", "OPENAI_BASE_URL="+url)
		t.Logf("index %d: exit %d\n%s", index, exit, output)
		return exit
	}
	if exit := pod(0); exit != int(event.ExitAuth) {
		t.Errorf("the first pod: exit %d", exit)
	}
	if exit := pod(0); exit != 0 {
		t.Errorf("the next pod of this shard: exit %d", exit)
	}
	if _, err := os.Stat(filepath.Join(dir, "reports/1/earlier")); err == nil {
		t.Error("the next pod started a new run")
	}
	if exit, output := runPod(t, dir, "merge.yaml"); exit == 0 {
		t.Errorf("with a shard missing: exit 0\n%s", output)
	}
	if exit := pod(1); exit != 0 {
		t.Errorf("the other shard: exit %d", exit)
	}
	if exit, output := runPod(t, dir, "merge.yaml"); exit != 0 {
		t.Errorf("merge: exit %d\n%s", exit, output)
	}
	all := jobsOf(t, filepath.Join(dir, "reports/all"))
	if len(all) != 4 {
		t.Errorf("%d jobs in the merged report: %v", len(all), all)
	}
	branches := strings.Fields(scripts.Git(t, filepath.Join(dir, "origin"), "branch", "--list", "--format=%(refname:short)", "millhand/*"))
	if len(branches) != 4 {
		t.Errorf("branches %q", branches)
	}
}
