package tools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR rest of it"

// site serves pages on loopback, to a stage whose profile names it.
func site(t *testing.T, handler http.HandlerFunc) (s *stage, at string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s = setUp(t, "full", nil)
	s.env.Profile.Network.Hosts = []string{u.Host}
	return s, server.URL
}

// serves answers with a body as a type of content.
func serves(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // none but what is asked for
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		fmt.Fprint(w, body)
	}
}

func TestWebfetchShowsAPage(t *testing.T) {
	const html = `<html><head><title>T</title><script>bad()</script></head><body><h1>Hi</h1><p>a <b>bold</b> <a href="/x">link</a></p></body></html>`
	tests := []struct {
		name, contentType, body string
		in                      args
		want                    string
	}{
		{"HTML as Markdown", "text/html", html, nil, "# Hi\n\na **bold** [link]($AT/x)"},
		{"HTML as Markdown, asked for", "text/html; charset=utf-8", html, args{"format": "markdown"}, "# Hi\n\na **bold** [link]($AT/x)"},
		{"as text", "text/html", html, args{"format": "text"}, "Hi\n\na bold link"},
		{"as it is", "text/html", html, args{"format": "html"}, html},
		{"XHTML", "application/xhtml+xml", html, args{"format": "text"}, "Hi\n\na bold link"},
		{"HTML that nobody says is one", "", "<!DOCTYPE html>" + html, args{"format": "text"}, "Hi\n\na bold link"},
		{"plain text", "text/plain", "a < b\n", nil, "a < b\n"},
		{"plain text as HTML", "text/plain", "a < b\n", args{"format": "html"}, "a < b\n"},
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
			s, at := site(t, serves(tt.contentType, tt.body))
			out := s.call("webfetch", args{"url": at + "/p?q=1"}.with(tt.in))
			s.want(out, Completed)
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
		"an image":                     {"image/png", pixel, "image/png", "an image"},
		"an image of another name":     {"application/octet-stream", pixel, "image/png", "an image"},
		"an image that calls it text":  {"text/plain", pixel, "image/png", "an image"},
		"a PDF":                        {"application/pdf", "%PDF-1.7 ...", "application/pdf", "a PDF file"},
		"a JPEG, and no type is given": {"", "\xff\xd8\xff\xe0 ...", "image/jpeg", "an image"},
	} {
		t.Run(name, func(t *testing.T) {
			s, at := site(t, serves(tt.contentType, tt.body))
			s.want(s.call("webfetch", args{"url": at + "/logo"}), Failed, at+"/logo is "+tt.kind+" ("+tt.media, "which this model does not support")
			s.env.Accepts = Attachments{Images: true, PDFs: true}
			out := s.call("webfetch", args{"url": at + "/logo"})
			s.want(out, Completed, "is attached")
			if diff := cmp.Diff([]Attachment{{Name: "logo", MIME: tt.media, Data: []byte(tt.body)}}, out.Attachments); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWebfetchErrors(t *testing.T) {
	s, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/zip":
			serves("application/zip", "PK\x03\x04")(w, r)
		case "/bytes":
			serves("application/octet-stream", "a\xff\xfe")(w, r)
		case "/lying":
			serves("text/plain", "a\x00b")(w, r)
		case "/big":
			serves("text/plain", strings.Repeat("x", 6<<20))(w, r)
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
		in   args
		want string
	}{
		{args{"url": ""}, "url is empty; specify a URL that starts with https://"},
		{args{"url": "example.com/x"}, `invalid url "example.com/x": must start with http:// or https://`},
		{args{"url": at, "format": "pdf"}, `format: expected one of markdown, text, html, got "pdf"`},
		{args{"url": at, "timeout": -1}, "invalid timeout -1: must be a positive number of seconds"},
		{args{"url": at + "/zip"}, at + "/zip is not text but application/zip (4 bytes) and can't be shown"},
		{args{"url": at + "/bytes"}, "is not text but application/octet-stream (3 bytes)"},
		{args{"url": at + "/lying"}, "and can't be shown"},
		{args{"url": at + "/big"}, "response exceeds 5 MiB; fetch a smaller page"},
		{args{"url": at + "/slow", "timeout": 0.05}, "request timed out after 50ms; set a larger timeout"},
		{args{"url": at + "/404"}, "404 Not Found: page not found; check the URL"},
		{args{"url": at + "/403"}, "403 Forbidden: the page requires authorization; try another source"},
		{args{"url": at + "/429"}, "429 Too Many Requests: the server is unavailable or rate limiting requests; retry later or try another source"},
		{args{"url": at + "/503"}, "503 Service Unavailable: the server is unavailable"},
		{args{"url": at + "/loop"}, "more than 5 redirects"},
	}
	for _, tt := range tests {
		s.want(s.call("webfetch", tt.in), Failed, tt.want)
	}
	for path, status := range map[string]int{"/zip": 200, "/404": 404, "/loop": 0} {
		if got := s.call("webfetch", args{"url": at + path}).Metadata.HTTPStatus; got != status {
			t.Errorf("%s: HTTP status %d, want %d", path, got, status)
		}
	}
}

func TestWebfetchIsDecidedByRulesAndTheNetwork(t *testing.T) {
	var hits atomic.Int64
	s, at := site(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	s.deny("webfetch", at+"/secret*")
	port := at[strings.LastIndexByte(at, ':'):]
	for _, address := range []string{
		at + "/secret", at + "/secret/x?y", "http://localhost" + port, "http://127.1" + port, "http://2130706433" + port, "http://0x7f.1" + port, "http://[::1]" + port,
		"http://[::ffff:127.0.0.1]" + port, "http://127.0.0.1:1/", "http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/", "http://10.0.0.1/",
		"file:///etc/passwd", "ftp://example.com/x", "http://a:b@" + at[len("http://"):], "https://example.com/" + strings.Repeat("x", 2100), "://",
	} {
		if out := s.call("webfetch", args{"url": address}); out.Status != Denied {
			t.Errorf("%.100s ended %s: %s", address, out.Status, out.Text())
		}
	}
	s.want(s.call("webfetch", args{"url": at + "/secret"}), Denied, `webfetch: {"`+at+`/secret*": deny} (m.yaml:4)`)
	s.want(s.call("webfetch", args{"url": "http://10.0.0.1/"}), Denied, "10.0.0.1 is not a public address and not listed in the profile's network (built in)")
	for _, preset := range []string{"readonly", "review", "edit", "build"} {
		s := setUp(t, preset, nil)
		s.want(s.call("webfetch", args{"url": at}), Denied)
		s.allow("webfetch", "*")
		s.want(s.call("webfetch", args{"url": "https://example.com/"}), Denied, "the profile's network does not allow example.com")
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests were made", hits.Load())
	}
	s.want(s.call("webfetch", args{"url": at}), Completed)
}

// What a redirect leads to is decided as if it had been asked for.
func TestWebfetchDecidesEveryRedirect(t *testing.T) {
	var secrets atomic.Int64
	var s *stage
	s, at := site(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if r.URL.Path == "/secret" {
			secrets.Add(1)
		}
		fmt.Fprint(w, "end")
	})
	s.deny("webfetch", at+"/secret*")
	s.want(s.call("webfetch", args{"url": at + "/?to=/end"}), Completed, "end")
	for target, rule := range map[string]string{
		"/secret": "m.yaml:4", "http://127.0.0.1:1/": "built in", "http://localhost/": "built in", "http://169.254.169.254/": "built in", "file:///etc/passwd": "built in",
	} {
		input, err := json.Marshal(args{"url": at + "/?to=" + url.QueryEscape(target)})
		if err != nil {
			t.Fatal(err)
		}
		out := s.tools.Dispatch(t.Context(), s.env, Call{Name: "webfetch", Input: string(input)}, nil)
		if problem := incoherent(out); problem != "" || out.Status != Denied || out.Decision.Source != rule {
			t.Errorf("%s ended %s by %+v: %s %s", target, out.Status, out.Decision, problem, out.Text())
		}
	}
	if secrets.Load() != 0 {
		t.Error("what a rule denies was fetched")
	}
}

func TestALongPageIsSaved(t *testing.T) {
	s, at := site(t, serves("text/plain", lines(5000)))
	out := s.call("webfetch", args{"url": at})
	saved := out.Metadata.OutputPath
	s.want(out, Completed, "line 1\n", "full output saved to "+saved)
	s.want(s.call("read", args{"filePath": saved, "offset": 4999, "limit": 1}), Completed, "4999: line 4999")
}
