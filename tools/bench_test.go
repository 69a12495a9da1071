package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
)

// benchEnv returns the environment of a session with the profile edit, in a workspace
// of one file.
func benchEnv(b *testing.B) *tools.Env {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(strings.Repeat("\tfmt.Println(\"hello\")\n", 100)), 0o600); err != nil {
		b.Fatal(err)
	}
	space, err := workspace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { space.Close() })
	profile, _ := permission.Preset("edit")
	return &tools.Env{
		Workplace: tools.Workplace{Workspace: space}, Results: tools.Results{Outputs: tooltest.OutputsIn(b, b.TempDir())},
		Profile: profile, Todos: &tools.Todos{}, Now: time.Now,
	}
}

// BenchmarkFor measures the tools of a session that is not the first of its process.
func BenchmarkFor(b *testing.B) {
	env := benchEnv(b)
	if _, err := tools.For(env); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tools.For(env); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDispatch measures calls that do little themselves.
func BenchmarkDispatch(b *testing.B) {
	env := benchEnv(b)
	registry, err := tools.For(env)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		call tools.Call
		want tools.Status
	}{
		{"read", tools.Call{ID: "c", Name: "read", Input: `{"filePath": "main.go"}`}, tools.Completed},
		{"todowrite", tools.Call{ID: "c", Name: "todowrite", Input: `{"todos": [{"content": "test", "status": "pending", "priority": "low"}]}`}, tools.Completed},
		{"invalid", tools.Call{ID: "c", Name: "read", Input: `{"path": 1}`}, tools.Failed},
		{"denied", tools.Call{ID: "c", Name: "write", Input: `{"filePath": "/etc/passwd", "content": "x"}`}, tools.Denied},
	} {
		b.Run(c.name, func(b *testing.B) {
			dispatch := func() {
				if out := registry.Dispatch(b.Context(), env, c.call, nil); out.Status != c.want {
					b.Fatalf("%s: %s", out.Status, out.Text())
				}
			}
			dispatch() // schemas are compiled at the first call
			b.ReportAllocs()
			for b.Loop() {
				dispatch()
			}
		})
	}
}
