// Package browser opens the HTML report of a real run in a real browser: what it shows, that
// it runs and loads nothing of what models and repositories wrote, its accessibility, and its
// speed.
package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/proto"

	"github.com/millhand/millhand/internal/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

// chromium starts a browser; the test is skipped without one, unless MILLHAND_REQUIRE names it.
func chromium(tb testing.TB) *rod.Browser {
	tb.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if slices.Contains(strings.Split(os.Getenv("MILLHAND_REQUIRE"), ","), "chromium") {
			tb.Fatal("MILLHAND_REQUIRE names chromium, which was not found")
		}
		tb.Skip("no Chromium found")
	}
	// Root can't use the browser's own sandbox, and the pages are of this test.
	l := launcher.New().Bin(program).Leakless(false).NoSandbox(true).HeadlessNew(true).UserDataDir(tb.TempDir()).
		Set("disable-dev-shm-usage").Set("hide-scrollbars").Set("force-color-profile", "srgb")
	address, err := l.Context(tb.Context()).Launch()
	if err != nil {
		tb.Fatalf("start %s: %v", program, err)
	}
	b := rod.New().ControlURL(address)
	if err := b.Connect(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		b.Close()
		l.Kill()
		l.Cleanup()
	})
	return b
}

// opened is a page with what it logged and requested.
type opened struct {
	*rod.Page
	t testing.TB

	mu       sync.Mutex
	messages []string
	requests []string
}

// open opens a file at a width, in light or dark colours.
func open(tb testing.TB, b *rod.Browser, file string, width int, scheme string) *opened {
	tb.Helper()
	tab, err := b.Page(proto.TargetCreateTarget{})
	if err != nil {
		tb.Fatal(err)
	}
	p := &opened{Page: tab.Timeout(2 * time.Minute), t: tb}
	tb.Cleanup(func() { tab.Close() })
	record := func(list *[]string, s string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		*list = append(*list, s)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan struct{})
	wait := tab.Context(ctx).EachEvent(
		func(e *proto.RuntimeConsoleAPICalled) {
			for _, a := range e.Args {
				record(&p.messages, a.Value.String())
			}
		},
		func(e *proto.RuntimeExceptionThrown) { record(&p.messages, e.ExceptionDetails.Text) },
		func(e *proto.LogEntryAdded) { record(&p.messages, e.Entry.Text) },
		func(e *proto.PageJavascriptDialogOpening) { record(&p.messages, "dialog: "+e.Message) },
		func(e *proto.NetworkRequestWillBeSent) { record(&p.requests, e.Request.URL) },
	)
	go func() { defer close(done); wait() }()
	tb.Cleanup(func() { cancel(); <-done })
	err = errors.Join(
		proto.RuntimeEnable{}.Call(tab), proto.LogEnable{}.Call(tab), proto.NetworkEnable{}.Call(tab), proto.PageEnable{}.Call(tab),
		tab.SetViewport(&proto.EmulationSetDeviceMetricsOverride{Width: width, Height: 900, DeviceScaleFactor: 1}),
		proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}.Call(tab),
	)
	if err == nil {
		err = p.Navigate("file://" + file)
	}
	if err == nil {
		err = p.WaitLoad()
	}
	if err != nil {
		tb.Fatalf("open %s: %v", file, err)
	}
	return p
}

// js evaluates a function in the page and returns its result as text.
func (p *opened) js(function string, args ...any) string {
	p.t.Helper()
	result, err := p.Eval(function, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", function, err)
	}
	return result.Value.String()
}

// quiet checks that the page logged nothing and requested only itself.
func (p *opened) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.messages) > 0 {
		p.t.Errorf("messages in the console: %q", p.messages)
	}
	if len(p.requests) > 1 {
		p.t.Errorf("requests: %q", p.requests)
	}
}

// picture saves a screenshot of the page in a directory.
func (p *opened) picture(dir, name string) {
	p.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	data, err := p.Screenshot(true, &proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormatPng})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		p.t.Errorf("screenshot %s: %v", name, err)
	}
}
