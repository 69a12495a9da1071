package webfetch_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/web"

	"github.com/google/go-cmp/cmp"
)

func TestWebfetchShowsAPage(t *testing.T) {
	const html = `<html><head><title>T</title><script>bad()</script></head><body><h1>Hi</h1><p>a <b>bold</b> <a href="/x">link</a></p></body></html>`
	tests := []struct {
		name, contentType, body string
		in                      tooltest.Args
		want                    string
	}{
		{"HTML as Markdown", "text/html", html, nil, "# Hi\n\na **bold** [link]($AT/x)"},
		{"HTML as Markdown, asked for", "text/html; charset=utf-8", html, tooltest.Args{"format": "markdown"}, "# Hi\n\na **bold** [link]($AT/x)"},
		{"as text", "text/html", html, tooltest.Args{"format": "text"}, "Hi\n\na bold link"},
		{"as it is", "text/html", html, tooltest.Args{"format": "html"}, html},
		{"XHTML", "application/xhtml+xml", html, tooltest.Args{"format": "text"}, "Hi\n\na bold link"},
		{"HTML that nobody says is one", "", "<!DOCTYPE html>" + html, tooltest.Args{"format": "text"}, "Hi\n\na bold link"},
		{"plain text", "text/plain", "a < b\n", nil, "a < b\n"},
		{"plain text as HTML", "text/plain", "a < b\n", tooltest.Args{"format": "html"}, "a < b\n"},
		{"JSON", "application/json", `{"a": 1}`, nil, `{"a": 1}`},
		{"JSON of a kind", "application/vnd.api+json", `{"a": 1}`, nil, `{"a": 1}`},
		{"XML", "application/rss+xml", `<rss/>`, nil, `<rss/>`},
		{"scripts", "application/javascript", `x = 1`, nil, `x = 1`},
		{"an SVG is text", "image/svg+xml", `<svg/>`, nil, `<svg/>`},
		{"Latin 1", "text/plain; charset=iso-8859-1", "na\xefve", nil, "naïve"},
		{"UTF-16", "text/plain; charset=utf-16le", "h\x00i\x00", nil, "hi"},
		{"UTF-16 by its mark", "text/plain", "\xff\xfeh\x00i\x00", nil, "hi"},
		{"text of no known type", "application/octet-stream", "package a\n", nil, "package a\n"},
		{"nothing", "text/html", "", nil, "(the page contains no text)"},
		{"too deep to be parsed", "text/html", strings.Repeat("<div>", 1000) + "deep", nil, "deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, at := tooltest.Site(t, tooltest.Serves(tt.contentType, tt.body))
			out := s.Call("webfetch", tooltest.Args{"url": at + "/p?q=1"}.With(tt.in))
			s.Want(out, tools.Completed)
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, "$AT", at), out.Output); diff != "" {
				t.Error(diff)
			}
			if out.Metadata.HTTPStatus != http.StatusOK || !strings.HasPrefix(out.Title, at) {
				t.Errorf("%s: %v", out.Title, out.Metadata)
			}
		})
	}
}

func TestWebfetchAttachesSupportedMedia(t *testing.T) {
	for name, tt := range map[string]struct{ contentType, body, media, kind string }{
		"an image":                     {"image/png", tooltest.Pixel, "image/png", "an image"},
		"an image of another name":     {"application/octet-stream", tooltest.Pixel, "image/png", "an image"},
		"an image that calls it text":  {"text/plain", tooltest.Pixel, "image/png", "an image"},
		"a PDF":                        {"application/pdf", "%PDF-1.7 ...", "application/pdf", "a PDF file"},
		"a JPEG, and no type is given": {"", "\xff\xd8\xff\xe0 ...", "image/jpeg", "an image"},
	} {
		t.Run(name, func(t *testing.T) {
			s, at := tooltest.Site(t, tooltest.Serves(tt.contentType, tt.body))
			s.Want(s.Call("webfetch", tooltest.Args{"url": at + "/logo"}), tools.Failed, at+"/logo is "+tt.kind+" ("+tt.media, "which this model does not support")
			s.Env.Accepts = media.Accepted{Images: true, PDFs: true}
			out := s.Call("webfetch", tooltest.Args{"url": at + "/logo"})
			s.Want(out, tools.Completed, "is attached")
			if diff := cmp.Diff([]tools.Attachment{{Name: "logo", MIME: tt.media, Data: []byte(tt.body)}}, out.Attachments); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWebfetchErrors(t *testing.T) {
	s, at := tooltest.Site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/zip":
			tooltest.Serves("application/zip", "PK\x03\x04")(w, r)
		case "/bytes":
			tooltest.Serves("application/octet-stream", "a\xff\xfe")(w, r)
		case "/lying":
			tooltest.Serves("text/plain", "a\x00b")(w, r)
		case "/big":
			tooltest.Serves("text/plain", strings.Repeat("x", 6<<20))(w, r)
		case "/slow":
			<-r.Context().Done()
		case "/403", "/404", "/429", "/503":
			var code int
			fmt.Sscanf(r.URL.Path, "/%d", &code)
			w.WriteHeader(code)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	})
	tests := []struct {
		in   tooltest.Args
		want string
	}{
		{tooltest.Args{"url": ""}, "url is empty; specify a URL that starts with https://"},
		{tooltest.Args{"url": "example.com/x"}, `invalid url "example.com/x": must start with http:// or https://`},
		{tooltest.Args{"url": at, "format": "pdf"}, `format: expected one of markdown, text, html, got "pdf"`},
		{tooltest.Args{"url": at, "timeout": -1}, "invalid timeout -1: must be a positive number of seconds"},
		{tooltest.Args{"url": at + "/zip"}, at + "/zip is not text but application/zip (4 bytes) and can't be shown"},
		{tooltest.Args{"url": at + "/bytes"}, "is not text but application/octet-stream (3 bytes)"},
		{tooltest.Args{"url": at + "/lying"}, "and can't be shown"},
		{tooltest.Args{"url": at + "/big"}, "response exceeds 5 MiB; fetch a smaller page"},
		{tooltest.Args{"url": at + "/slow", "timeout": 0.05}, "request timed out after 50ms; set a larger timeout"},
		{tooltest.Args{"url": at + "/404"}, "404 Not Found: page not found; check the URL"},
		{tooltest.Args{"url": at + "/403"}, "403 Forbidden: the page requires authorization; try another source"},
		{tooltest.Args{"url": at + "/429"}, "429 Too Many Requests: the server is unavailable or rate limiting requests; retry later or try another source"},
		{tooltest.Args{"url": at + "/503"}, "503 Service Unavailable: the server is unavailable"},
		{tooltest.Args{"url": at + "/loop"}, "more than 5 redirects"},
	}
	for _, tt := range tests {
		s.Want(s.Call("webfetch", tt.in), tools.Failed, tt.want)
	}
	for path, status := range map[string]int{"/zip": 200, "/404": 404, "/loop": 0} {
		if got := s.Call("webfetch", tooltest.Args{"url": at + path}).Metadata.HTTPStatus; got != status {
			t.Errorf("%s: HTTP status %d, want %d", path, got, status)
		}
	}
}

func TestWebfetchIsDecidedByRulesAndTheNetwork(t *testing.T) {
	var hits atomic.Int64
	s, at := tooltest.Site(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	s.Deny("webfetch", at+"/secret*")
	port := at[strings.LastIndexByte(at, ':'):]
	for _, address := range []string{
		at + "/secret", at + "/secret/x?y", "http://localhost" + port, "http://127.1" + port, "http://2130706433" + port, "http://0x7f.1" + port, "http://[::1]" + port,
		"http://[::ffff:127.0.0.1]" + port, "http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/", "http://10.0.0.1/",
		"file:///etc/passwd", "ftp://example.com/x", "http://a:b@" + at[len("http://"):], "https://example.com/" + strings.Repeat("x", 2100), "://",
	} {
		if out := s.Call("webfetch", tooltest.Args{"url": address}); out.Status != tools.Denied {
			t.Errorf("%.100s ended %s: %s", address, out.Status, out.Text())
		}
	}
	s.Want(s.Call("webfetch", tooltest.Args{"url": at + "/secret"}), tools.Denied, `webfetch: {"`+at+`/secret*": deny} (m.yaml:4)`)
	s.Want(s.Call("webfetch", tooltest.Args{"url": "http://10.0.0.1/"}), tools.Denied, "10.0.0.1 is not a public address and not listed in the profile's network (built in)")
	for _, preset := range []string{"readonly", "review", "edit", "build"} {
		s := tooltest.SetUp(t, preset, nil)
		s.Want(s.Call("webfetch", tooltest.Args{"url": at}), tools.Denied)
		s.Allow("webfetch", "*")
		s.Want(s.Call("webfetch", tooltest.Args{"url": "https://example.com/"}), tools.Denied, "the profile's network does not allow example.com")
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests were made", hits.Load())
	}
	s.Want(s.Call("webfetch", tooltest.Args{"url": at}), tools.Completed)
}

// What a redirect leads to is decided as if it had been asked for.
func TestWebfetchDecidesEveryRedirect(t *testing.T) {
	var secrets atomic.Int64
	var s *tooltest.Stage
	s, at := tooltest.Site(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if r.URL.Path == "/secret" {
			secrets.Add(1)
		}
		fmt.Fprint(w, "end")
	})
	s.Deny("webfetch", at+"/secret*")
	s.Want(s.Call("webfetch", tooltest.Args{"url": at + "/?to=/end"}), tools.Completed, "end")
	chain := "/end"
	for range web.MaxRedirects {
		chain = "/?to=" + url.QueryEscape(chain)
	}
	s.Want(s.Call("webfetch", tooltest.Args{"url": at + chain}), tools.Completed, "end")
	s.Want(s.Call("webfetch", tooltest.Args{"url": at + "/?to=" + url.QueryEscape(chain)}), tools.Failed, "more than 5 redirects")
	for target, rule := range map[string]string{
		"/secret": "m.yaml:4", "http://127.0.0.1:1/": "built in", "http://localhost/": "built in", "http://169.254.169.254/": "built in", "file:///etc/passwd": "built in",
	} {
		input, err := json.Marshal(tooltest.Args{"url": at + "/?to=" + url.QueryEscape(target)})
		if err != nil {
			t.Fatal(err)
		}
		out := s.Tools.Dispatch(t.Context(), s.Env, tools.Call{Name: "webfetch", Input: string(input)}, nil)
		if problem := tooltest.Incoherent(out); problem != "" || out.Status != tools.Denied || out.Decision.Source != rule {
			t.Errorf("%s ended %s by %+v: %s %s", target, out.Status, out.Decision, problem, out.Text())
		}
	}
	if secrets.Load() != 0 {
		t.Error("what a rule denies was fetched")
	}
}

func TestALongPageIsSaved(t *testing.T) {
	s, at := tooltest.Site(t, tooltest.Serves("text/plain", tooltest.Lines(5000)))
	out := s.Call("webfetch", tooltest.Args{"url": at})
	saved := out.Metadata.OutputPath
	s.Want(out, tools.Completed, "line 1\n", "full output saved to "+saved)
	s.Want(s.Call("read", tooltest.Args{"filePath": saved, "offset": 4999, "limit": 1}), tools.Completed, "4999: line 4999")
}
