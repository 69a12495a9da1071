package pricetable

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/prices"
)

// servers are the registry and the second source.
type servers struct {
	date     string // of the registry's release
	input    string // price of the model gpt-new in it
	checksum string // "" for that of the archive
	listed   func(w http.ResponseWriter, r *http.Request)
	url      string
}

// serve starts servers with a release that is newer than the built-in one, and a list with gpt-listed, which only it has, and gpt-new.
func serve(t *testing.T) *servers {
	t.Helper()
	s := &servers{date: "2099-01-02", input: "1"}
	s.listed = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"openai": {"models": {"gpt-listed": {"cost": {"input": 3, "output": 9}}, "gpt-new": {"cost": {"input": 3, "output": 9}}}}}`)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /@pydantic/genai-prices", func(w http.ResponseWriter, _ *http.Request) {
		sum := sha512.Sum512(s.archive(t))
		checksum := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
		if s.checksum != "" {
			checksum = s.checksum
		}
		fmt.Fprintf(w, `{"dist-tags":{"latest":"9.9"},"time":{"9.9":"%sT10:00:00Z"},"versions":{"9.9":{"dist":{"integrity":%q}}}}`, s.date, checksum)
	})
	mux.HandleFunc("GET /@pydantic/genai-prices/-/genai-prices-9.9.tgz", func(w http.ResponseWriter, _ *http.Request) { w.Write(s.archive(t)) })
	mux.HandleFunc("GET /api.json", func(w http.ResponseWriter, r *http.Request) { s.listed(w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// archive returns that of the release.
func (s *servers) archive(t *testing.T) []byte {
	t.Helper()
	text := `const E=[{id:"openai",models:[{id:"gpt-new",match:{equals:"gpt-new"},prices:{input_mtok:` + s.input + `,output_mtok:2}}]}];`
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	files := tar.NewWriter(zipped)
	if err := files.WriteHeader(&tar.Header{Name: "package/dist/index.cjs", Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Error(err)
	}
	if _, err := files.Write([]byte(text)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(files.Close(), zipped.Close()); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// inCache returns a world with a new cache directory.
func inCache(t *testing.T) (w world.World, cache string, log *bytes.Buffer) {
	t.Helper()
	cache, log = filepath.Join(t.TempDir(), "cache"), &bytes.Buffer{}
	now := time.Date(2099, 3, 4, 0, 0, 0, 0, time.UTC)
	return world.World{Err: log, Now: func() time.Time { return now }, Getenv: func(name string) string { return map[string]string{"MILLHAND_CACHE_DIR": cache}[name] }}, cache, log
}

// knows reports whether a model has a price on this machine.
func knows(w world.World, name string) bool {
	m, known := Saved(w).Of(name)
	_, priced := m.Price(w.Now())
	return known && priced
}

func TestANewerReleaseIsSavedAndUsedOnce(t *testing.T) {
	t.Parallel()
	w, cache, log := inCache(t)
	s := serve(t)
	if err := Refresh(t.Context(), w, s.url, ""); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "prices.txt")
	if text := log.String(); !strings.HasPrefix(text, "genai-prices 9.9 of 2099-01-02, sha512-") || !strings.HasSuffix(text, "\nsaved in "+path+"\n") {
		t.Errorf("log %q", text)
	}
	if got := Saved(w); got.Date != "2099-01-02" || !got.Cached || !knows(w, "openai/gpt-new") {
		t.Errorf("prices of %s, from the cache: %t", got.Date, got.Cached)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	log.Reset()
	for _, date := range []string{"2099-01-02", "2098-01-01"} {
		s.date = date
		if err := Refresh(t.Context(), w, s.url, ""); err != nil || !strings.HasSuffix(log.String(), "\nnot newer than the prices in use (9.9 of 2099-01-02)\n") {
			t.Errorf("a release of %s: %v, log %s", date, err, log)
		}
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(first, again) {
		t.Errorf("an older release is saved: %v", err)
	}
}

func TestAReleaseThatCannotBeUsedChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *servers)
		want   string
	}{
		"another archive":  {func(s *servers) { s.checksum = "sha512-AAAA" }, "checksum mismatch"},
		"no price":         {func(s *servers) { s.input = `"1 free"` }, "read the price"},
		"a negative price": {func(s *servers) { s.input = "-1" }, "read the price"},
		"no server":        {func(s *servers) { s.url = "http://127.0.0.1:1" }, "download prices: "},
	} {
		w, cache, log := inCache(t)
		s := serve(t)
		c.change(s)
		err := Refresh(t.Context(), w, s.url, "")
		if fault.ExitOf(err) != event.ExitUnavailable || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(log.String(), "saved") {
			t.Errorf("%s: %v, log %s", name, err, log)
		}
		if _, err := os.Stat(cache); !errors.Is(err, fs.ErrNotExist) || Saved(w).Date != prices.BuiltIn().Date {
			t.Errorf("%s: prices of %s, %v", name, Saved(w).Date, err)
		}
	}
}

func TestPricesThatCannotBeSavedAreAnError(t *testing.T) {
	t.Parallel()
	w, cache, log := inCache(t)
	if err := os.WriteFile(cache, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t)
	err := Refresh(t.Context(), w, s.url, s.url+"/api.json")
	if fault.ExitOf(err) != event.ExitUsage || !strings.HasPrefix(fmt.Sprint(err), "save prices: ") {
		t.Errorf("%v", err)
	}
	if text := log.String(); strings.Contains(text, "saved") || strings.Contains(text, "only from there") || !strings.Contains(text, "warning: save prices: ") {
		t.Errorf("log %s", text)
	}
}

// The list has the price of gpt-new too, which the registry's release has.
func TestTheSecondSourceCountsForModelsThatTheFirstLacks(t *testing.T) {
	t.Parallel()
	w, cache, log := inCache(t)
	s := serve(t)
	if err := Refresh(t.Context(), w, s.url, s.url+"/api.json"); err != nil {
		t.Fatal(err)
	}
	if want := s.url + "/api.json, 2099-03-04, prices only from there: 1 model\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("log %s, want %s", log, want)
	}
	if m, _ := Saved(w).Of("openai/gpt-new"); !knows(w, "openai/gpt-listed") || !knows(w, "openai/gpt-new") {
		t.Errorf("%+v", m)
	}
	// It is not lost when the source fails later, and a file that can't be read is not used.
	log.Reset()
	s.listed = http.NotFound
	if err := Refresh(t.Context(), w, s.url, s.url+"/api.json"); err != nil || !knows(w, "openai/gpt-listed") {
		t.Errorf("without the second source: %v", err)
	}
	if want := "warning: download prices: " + s.url + "/api.json: 404 Not Found; prices that only this source has are not updated\n"; !strings.HasSuffix(log.String(), want) {
		t.Errorf("log %s, want %s", log, want)
	}
	if err := os.WriteFile(filepath.Join(cache, "listed-prices.txt"), []byte("models.dev 2099-03-04\nopenai/gpt-listed free\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if knows(w, "openai/gpt-listed") || !knows(w, "openai/gpt-new") {
		t.Error("an invalid list is used, or the other prices are not")
	}
}

func TestAFailureOfTheFirstSourceIsReportedAfterTheSecond(t *testing.T) {
	t.Parallel()
	w, _, log := inCache(t)
	s := serve(t)
	if err := Refresh(t.Context(), w, "http://127.0.0.1:1", s.url+"/api.json"); fault.ExitOf(err) != event.ExitUnavailable || !knows(w, "openai/gpt-listed") {
		t.Errorf("%v, log %s", err, log)
	}
	if !strings.Contains(log.String(), "prices only from there: 2 models\n") {
		t.Errorf("log %s", log)
	}
}

// The first source is saved before the second one is asked, which may not respond.
func TestAnInterruptedRefreshEndsWithTheSignal(t *testing.T) {
	t.Parallel()
	w, _, log := inCache(t)
	s := serve(t)
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	s.listed = func(_ http.ResponseWriter, r *http.Request) {
		stop(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
		<-r.Context().Done()
	}
	if err := Refresh(ctx, w, s.url, s.url+"/api.json"); fault.ExitOf(err) != event.ExitTerminate || strings.Contains(log.String(), "warning") || !knows(w, "openai/gpt-new") {
		t.Errorf("%v, log %s", err, log)
	}
	if err := Refresh(ctx, w, s.url, ""); fault.ExitOf(err) != event.ExitTerminate {
		t.Errorf("stopped before: %v", err)
	}
}
