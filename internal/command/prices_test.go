package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/doctor"
	"github.com/millhand/millhand/internal/app/world"
)

// priceRegistry serves a release of the dataset of a date, with one model.
func priceRegistry(t *testing.T, date string) string {
	t.Helper()
	const source = `const E=[{id:"openai",models:[{id:"gpt-5-mini",match:{equals:"gpt-5-mini"},context_window:4e5,prices:{input_mtok:7,output_mtok:8}}]}];`
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: "package/dist/index.cjs", Mode: 0o644, Size: int64(len(source))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(source)); err != nil {
		t.Fatal(err)
	}
	files.Close()
	zipped.Close()
	sum := sha512.Sum512(archive.Bytes())
	index := fmt.Sprintf(`{"dist-tags":{"latest":"9.9.9"},"time":{"9.9.9":"%sT10:00:00Z"},"versions":{"9.9.9":{"dist":{"integrity":"sha512-%s"}}}}`, date, base64.StdEncoding.EncodeToString(sum[:]))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /@pydantic/genai-prices", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, index) })
	mux.HandleFunc("GET /@pydantic/genai-prices/-/genai-prices-9.9.9.tgz", func(w http.ResponseWriter, _ *http.Request) { w.Write(archive.Bytes()) })
	mux.HandleFunc("GET /api.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"openai": {"models": {"gpt-99": {"cost": {"input": 3, "output": 9}, "limit": {"context": 100, "output": 10}}}}}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestRefreshedPricesAreUsed(t *testing.T) {
	cache, now := t.TempDir(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	env := map[string]string{"MILLHAND_CACHE_DIR": cache, "OPENAI_API_KEY": "x"}
	millhand := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		w := world.World{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return now }}
		if exit := Main(t.Context(), append([]string{"millhand"}, args...), w); exit != want {
			t.Fatalf("%q: exit code %d, want %d: %s", args, exit, want, errs.String())
		}
		return out.String(), errs.String()
	}
	expect := func(text string, texts ...string) {
		t.Helper()
		for _, want := range texts {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
	}
	if _, text := millhand(0, "models", "openai", "--refresh", "--registry", priceRegistry(t, "2025-01-01"), "--source", ""); !strings.Contains(text, "not newer") {
		t.Errorf("an old dataset: %s", text)
	}
	millhand(75, "models", "--refresh", "--registry", "http://127.0.0.1:1", "--source", "http://127.0.0.1:1")
	if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
		t.Fatalf("%v, %v", left, err)
	}
	out, text := millhand(0, "models", "openai", "--refresh", "--registry", priceRegistry(t, "2026-11-19"), "--source", "")
	expect(text, "genai-prices 9.9.9 of 2026-11-19, sha512-", "saved in "+filepath.Join(cache, "prices.txt"))
	expect(out, "as of 2026-11-19")
	out, _ = millhand(0, "models", "openai")
	expect(out, "as of 2026-11-19", "openai/gpt-5-mini ", "openai/gpt-6.1-terra ")

	manifest := filepath.Join(t.TempDir(), "m.yaml")
	plan := func(limit, model string) string {
		text := fmt.Sprintf("version: 1\nmodel: %s\nlimits: {cost: %s}\ntasks: [{id: a, prompt: p}]\n", model, limit)
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, notes := millhand(0, "validate", manifest)
		return notes
	}
	if notes := plan("5", "openai/gpt-5-mini"); notes != "" {
		t.Errorf("notes: %s", notes)
	}
	expect(plan("0.01", "openai/gpt-5-mini"), "the cost limit of $0.01 is too small for one request to openai/gpt-5-mini, which costs about $0.0195") // 2500 at 7, 256 at 8
	expect(plan("5", "google/gemini-flash-latest"), "google/gemini-flash-latest is an alias of changing models")
	now = now.AddDate(0, 0, 100)
	expect(plan("5", "openai/gpt-5-mini"), "the price table is 100 days old (2026-11-20)", "millhand models --refresh")

	if err := os.WriteFile(filepath.Join(cache, "prices.txt"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ = millhand(0, "models", "openai")
	expect(out, "as of 2026-09-23")

	// A second source lists a model that has no price elsewhere, and makes the prices newer.
	known := func() doctor.Check {
		return doctor.Prices(world.World{Getenv: func(name string) string { return env[name] }, Now: func() time.Time { return now }})
	}
	if c := known(); c.Status != doctor.Warning || !strings.Contains(c.Found, "the newest of 2026-11-20") || !strings.Contains(c.Fix, "millhand models --refresh") {
		t.Errorf("old prices: %+v", c)
	}
	registry := priceRegistry(t, "2025-01-01")
	_, text = millhand(0, "models", "openai", "--refresh", "--registry", registry, "--source", registry+"/none")
	expect(text, "warning: download prices: "+registry+"/none: 404 Not Found; prices that only this source has are not updated")
	_, text = millhand(0, "models", "openai", "--refresh", "--registry", registry, "--source", registry+"/api.json")
	expect(text, registry+"/api.json, 2027-02-28, prices only from there: 1 model")
	if notes := plan("5", "openai/gpt-99"); notes != "" {
		t.Errorf("notes: %s", notes)
	}
	out, _ = millhand(0, "models", "openai")
	expect(out, "openai/gpt-99 ", "openai/gpt-5-mini ")
	if c := known(); c.Status != doctor.OK || !strings.Contains(c.Found, "the newest of 2027-02-28") {
		t.Errorf("new prices: %+v", c)
	}
}
