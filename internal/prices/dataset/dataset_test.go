package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
)

// source is JavaScript in the form of the package's.
const source = `"use strict";Object.defineProperty(exports,"x",{value:1});const E=[{id:"openai",name:'Open "AI"',models:[` +
	`{id:"a-1",description:` + "`It's\na model.`" + `,match:{or:[{equals:"a-1"},{equals:"A-one"},{regex:"^a-1-\\d{4}-\\d{2}-\\d{2}$"}]},context_window:2e5,deprecated:!1,prices:{input_mtok:.25,output_mtok:2,cache_read_mtok:.025}},` +
	`{id:"tiers",match:{equals:"tiers"},prices:{input_mtok:{base:5,tiers:[{start:271999,price:10}]},output_mtok:30,cache_write_mtok:{base:6.25,tiers:[{start:271999,price:12.5},{start:5e5,price:13}]}}},` +
	`{id:"hours",match:{starts_with:"hours"},prices:[{prices:{input_mtok:9,output_mtok:9}},{constraint:{start_date:"2026-08-17",type:"start_date"},prices:{input_mtok:1,output_mtok:2}},{constraint:{start_time:"01:00:00Z",end_time:"04:00:00Z",type:"time_of_date"},prices:{input_mtok:2,output_mtok:4}},{constraint:{start_date:"2027-01-01",type:"start_date"},prices:{input_mtok:3,output_mtok:6}}]},` +
	`{id:"image",match:{equals:"image"},prices:{input_mtok:1,output_mtok:2,output_image_mtok:30}},` +
	`{id:"nothing",match:{equals:"nothing"},prices:{}},` +
	`{id:"gpt-oss-20b",match:{equals:"gpt-oss-20b"},prices:{input_mtok:1,output_mtok:2}}]},` +
	`{id:"openrouter",models:[{id:"x/y:free",match:{equals:"x/y:free"},prices:{}},{id:"bare",match:{equals:"bare"},prices:{input_mtok:1,output_mtok:2}}]},` +
	`{id:"nobody",models:[{id:"z",match:{equals:"z"},prices:{input_mtok:1,output_mtok:2}}]}],X={a:1};exports.data=E;`

const table = `genai-prices 1.2 2026-09-23
openai/a-1*|a-one 200000 0.25,2,0.025,,
openai/hours* 0 1,2,,, 01:00-04:00@2,4,,, 2027-01-01@3,6,,,
openai/tiers 0 5,30,,6.25,;271999:10,30,,12.5,;500000:10,30,,13,
openrouter/x/y:free 0 0,0,0,0,0
`

func TestAGeneratedTableCanBeParsed(t *testing.T) {
	got, err := Table([]byte(source), "1.2", "2026-09-23")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := prices.Parse(string(got)); err != nil {
		t.Error(err)
	}
}

func TestOnlyLiteralsAreRead(t *testing.T) {
	for _, bad := range []string{
		"", "const E=[1]", `const E=[{id:"a"`, `const E=[{id:f("a")}]`, "const E=[{id:`${process.env.HOME}`}]", `const E=[{id:"a\q"+1}]`, `const E=[{id:"\01"}]`,
		`const E=[{id:!x}]`, `const E=[{id:1,}]`, `const E=[{id:"a",models:3}]`, `const E=[{id:"openai",models:[{id:"a",match:{equals:"a"},prices:{input_mtok:"1 free",output_mtok:1}}]}]`,
		`const E=[{id:"openai",models:[{id:"a",match:{equals:"a"},prices:[{constraint:{weekday:1},prices:{input_mtok:1,output_mtok:1}}]}]}]`,
	} {
		if got, err := Table([]byte(bad), "1", "2026-01-01"); err == nil {
			if _, err := prices.Parse(string(got)); err == nil && strings.Count(string(got), "\n") > 1 {
				t.Errorf("%s became\n%s", bad, got)
			}
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte(source))
	f.Fuzz(func(t *testing.T, source []byte) {
		got, err := Table(source, "1", "2026-01-01")
		if err == nil && bytes.Count(got, []byte("genai-prices")) == 0 {
			t.Errorf("%q", got)
		}
	})
}

func FuzzLiteral(f *testing.F) {
	f.Add([]byte(source))
	f.Fuzz(func(t *testing.T, source []byte) {
		if got, err := literal(source); err == nil && !json.Valid(got) {
			t.Errorf("%q", got)
		}
	})
}

// registry serves a release as an npm registry does.
func registry(t *testing.T, index string, archive []byte) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /@pydantic/genai-prices", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, index) })
	mux.HandleFunc("GET /@pydantic/genai-prices/-/genai-prices-1.2.tgz", func(w http.ResponseWriter, _ *http.Request) { w.Write(archive) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func pack(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	files.Close()
	zipped.Close()
	return b.Bytes()
}

func TestFetch(t *testing.T) {
	archive := pack(t, "package/dist/index.cjs", source)
	other := pack(t, "package/README.md", source)
	sum := func(data []byte) string {
		of := sha512.Sum512(data)
		return "sha512-" + base64.StdEncoding.EncodeToString(of[:])
	}
	index := func(integrity string) string {
		return `{"dist-tags":{"latest":"1.2"},"time":{"modified":"2026-10-01T00:00:00Z","1.2":"2026-09-23T23:11:04.622Z"},"versions":{"1.2":{"dist":{"integrity":"` + integrity + `"}}}}`
	}
	got, err := Fetch(context.Background(), http.DefaultClient, registry(t, index(sum(archive)), archive)+"/")
	if err != nil || string(got.Table) != table || got.Version != "1.2" || got.Date != "2026-09-23" || got.Integrity != sum(archive) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, tt := range []struct {
		name, index string
		archive     []byte
		want        string
	}{
		{"another archive", index(sum(archive)), other, "checksum mismatch"},
		{"no checksum", index(""), archive, "unsupported checksum"},
		{"another package", index(sum(other)), other, "index.cjs not found"},
		{"no archive", index(sum([]byte("x"))), []byte("x"), "read "},
		{"no JSON", "<html>", archive, "read "},
		{"no version", "{}", archive, "no latest version"},
	} {
		if _, err := Fetch(context.Background(), http.DefaultClient, registry(t, tt.index, tt.archive)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// modelsDev has the forms of the file of models.dev.
const modelsDev = `{
"openai": {"id": "openai", "models": {
  "gpt-99": {"cost": {"input": 2.5, "output": 1e1, "cache_read": 0.25, "context_over_200k": {"input": 5, "output": 15}}, "limit": {"context": 400000, "output": 128000}, "modalities": {"input": ["text", "pdf", "image"], "output": ["text"]}},
  "gpt-tiers": {"cost": {"input": 1, "output": 2, "tiers": [{"input": 3, "output": 4, "tier": {"type": "context", "size": 272000}}]}, "limit": {"context": 1, "output": 1}},
  "gpt-hours": {"cost": {"input": 1, "output": 2, "tiers": [{"input": 3, "output": 4, "tier": {"type": "hour", "size": 3}}]}},
  "gpt-image": {"cost": {"input": 1, "output": 2}, "modalities": {"output": ["text", "image"]}},
  "gpt-plan": {"cost": {"input": 0, "output": 0}},
  "gpt-negative": {"cost": {"input": -1, "output": 2}},
  "gpt-unknown": {}, "gpt-odd": {"cost": []}, "a b": {"cost": {"input": 1, "output": 2}},
  "gpt-5-mini": {"cost": {"input": 99, "output": 99}, "limit": {"context": 5, "output": 5}}}},
"openrouter": {"models": {"x/Y:free": {"cost": {"input": 0, "output": 0}, "limit": {"context": 10, "output": 0}}}},
"nobody": {"models": {"z": {"cost": {"input": 1, "output": 2}}}}}`

func TestModelsDev(t *testing.T) {
	const want = `models.dev 2026-11-28
openai/gpt-5-mini 5 5 text 99,99,,,
openai/gpt-99 400000 128000 image,pdf 2.5,1e1,0.25,,;200000:5,15,,,
openai/gpt-tiers 1 1 text 1,2,,,;272000:3,4,,,
openrouter/x/y:free 10 0 text 0,0,,,
`
	got, err := FromModelsDev([]byte(modelsDev), "2026-11-28")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	table, err := prices.BuiltIn().WithListed(string(got))
	if err != nil || table.Latest() != "2026-11-28" {
		t.Fatal(table.Latest(), err)
	}
	before, _ := prices.BuiltIn().Of("openai/gpt-5-mini")
	if after, _ := table.Of("openai/gpt-5-mini"); !cmp.Equal(before.Possible(time.Now()), after.Possible(time.Now())) || before.Context != after.Context {
		t.Errorf("a model with a price became %+v", after)
	}
	m, _ := table.Of("openai/gpt-99")
	if p, ok := m.Price(time.Now()); !ok || p.Input != 2_500_000*money.Dollar/1_000_000 || p.Tiers[0].From != 200_000 || m.MaxOutput != 128_000 || !m.PDFs {
		t.Errorf("%+v", m)
	}
	for _, broken := range []string{"", "[]", "{}", `{"openai": {"models": {}}}`, `{"openai": 1}`} {
		if got, err := FromModelsDev([]byte(broken), "2026-11-28"); err == nil {
			t.Errorf("%q became %q", broken, got)
		}
	}
}

func FuzzModelsDev(f *testing.F) {
	f.Add([]byte(modelsDev))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := FromModelsDev(data, "2026-11-28")
		if err != nil {
			return
		}
		if _, err := prices.BuiltIn().WithListed(string(rows)); err != nil {
			t.Errorf("%q: %v", rows, err)
		}
	})
}
