package workflows

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

// TestServicesOfSystemd reads the units of examples/systemd, and has systemd check them where it is
// installed.
func TestServicesOfSystemd(t *testing.T) {
	dir := t.TempDir()
	scripts.CopyExample(t, "systemd", dir, "/usr/local/bin", millhandDir(t))
	page := read(t, filepath.Join(dir, "README.md"))
	for name, want := range map[string]map[string]string{
		"millhand-worker.service": {"Install.WantedBy": "multi-user.target", "Service.Restart": "on-failure", "Service.SuccessExitStatus": "143", "Service.RestartPreventExitStatus": "2 3"},
		"millhand@.service":       {"Service.Type": "oneshot"},
	} {
		unit := parseUnit(t, filepath.Join(dir, name))
		for key, value := range map[string]string{
			"Service.User": "millhand", "Service.KillMode": "mixed", "Service.TimeoutStopSec": "2min", "Service.Delegate": "yes", "Service.OOMPolicy": "continue",
			"Service.ProtectSystem": "strict", "Service.PrivateTmp": "yes", "Service.NoNewPrivileges": "yes", "Service.CapabilityBoundingSet": "", "Service.UMask": "0077",
		} {
			if got, set := unit[key]; got != value || !set {
				t.Errorf("%s: %s is %q, want %q", name, key, got, value)
			}
		}
		for key, value := range want {
			if unit[key] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, unit[key], value)
			}
		}
		// The sandbox would have level B, the limits of a job no control group, or Node.js would not start.
		for _, key := range []string{
			"RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "SystemCallFilter", "ProtectControlGroups", "MemoryDenyWriteExecute",
		} {
			if value, set := unit["Service."+key]; set {
				t.Errorf("%s: %s=%s conflicts with the sandbox", name, key, value)
			}
			if !strings.Contains(page, "`"+key+"=") {
				t.Errorf("README.md does not explain why %s= is missing", key)
			}
		}
		if file := unit["Service.EnvironmentFile"]; !strings.Contains(page, "/"+filepath.Base(file)) || filepath.Dir(file) != "/etc/millhand" {
			t.Errorf("README.md does not explain %s", file)
		}
	}
	timer := parseUnit(t, filepath.Join(dir, "millhand@.timer"))
	if timer["Timer.OnCalendar"] == "" || timer["Timer.Persistent"] != "true" || timer["Install.WantedBy"] != "timers.target" {
		t.Errorf("the timer: %v", timer)
	}

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	cmd := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", "millhand-worker.service", "millhand@.service", "millhand@.timer")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("millhand")) {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// TestManifestOfTheQueue: a queue accepts only repositories that every worker can fetch, and the budget
// of a run that nobody watches is limited.
func TestManifestOfTheQueue(t *testing.T) {
	file := filepath.Join(scripts.Root(t), "examples/queue/millhand.yaml")
	if out, err := exec.CommandContext(t.Context(), "millhand", "validate", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var manifest struct {
		Budget struct{ Cost float64 }
		Repos  []struct{ URL string }
	}
	if err := yaml.Unmarshal([]byte(read(t, file)), &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Repos) == 0 || manifest.Budget.Cost == 0 || slices.ContainsFunc(manifest.Repos, func(r struct{ URL string }) bool { return r.URL == "" }) {
		t.Errorf("manifest %+v", manifest)
	}
}

// TestServerOfTheQueue checks the configuration of the server as the server does.
func TestServerOfTheQueue(t *testing.T) {
	file := filepath.Join(scripts.Root(t), "examples/queue/nats.conf")
	for _, setting := range []string{"token: $NATS_TOKEN", "store_dir:", "sync_interval:", "listen: \"127.0.0.1:4222\""} {
		if !strings.Contains(read(t, file), "\n  "+setting) && !strings.Contains(read(t, file), "\n"+setting) {
			t.Errorf("nats.conf does not set %s", setting)
		}
	}
	t.Setenv("NATS_TOKEN", "a3f1")
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !o.JetStream || o.StoreDir != "queue-store" || o.SyncInterval != time.Second || o.Authorization != "a3f1" || o.Host != "127.0.0.1" {
		t.Errorf("JetStream %v in %q, sync every %v, token %q, host %s", o.JetStream, o.StoreDir, o.SyncInterval, o.Authorization, o.Host)
	}
}
