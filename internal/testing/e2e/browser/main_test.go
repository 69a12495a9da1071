// Package browser opens the HTML report of a real run, and the website of the documents, in a real browser: what they show, that
// the report runs and loads nothing of what models and repositories wrote, accessibility, and
// speed.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/millhand/millhand/internal/testing/e2e/scripts"
)

func TestMain(m *testing.M) { scripts.Main(m) }

// chromium starts a browser; the test is skipped without one, unless MILLHAND_REQUIRE names it. The
// context opens tabs. All processes of the browser are killed at the end of the test, and if this process ends.
func chromium(tb testing.TB) context.Context {
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
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, // root can't use the browser's own sandbox, and the pages are of this test
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = group()
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		}))
	allocator, end := chromedp.NewExecAllocator(context.WithoutCancel(tb.Context()), options...)
	tb.Cleanup(end)
	ctx, cancel := chromedp.NewContext(allocator)
	tb.Cleanup(func() {
		limited, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := chromedp.Cancel(limited); err != nil { // the browser removes its files
			tb.Errorf("end %s: %v", program, err)
		}
		cancel() // kills it
	})
	if err := chromedp.Do(ctx); err != nil {
		tb.Fatalf("start %s: %v", program, err)
	}
	return ctx
}

// opened is a page with what it logged and requested.
type opened struct {
	ctx   context.Context //nolint:containedctx // the tab is a value of it
	close func()
	t     testing.TB

	mu       sync.Mutex
	messages []string
	requests []string
}

// open opens a URL at a width, in light or dark colours.
func open(tb testing.TB, browser context.Context, url string, width int64, scheme string) *opened {
	tb.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	tb.Cleanup(closeTab)
	p := &opened{t: tb, close: closeTab}
	if err := chromedp.Listen(tab, p.record); err != nil { // this opens the tab, which would end at a time limit
		tb.Fatal(err)
	}
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(tab, 2*time.Minute)
	tb.Cleanup(cancel)
	p.do(chromedp.EmulateViewport(width, 900))
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.do(chromedp.Navigate(url))
	return p
}

// record saves what an event reports about the page.
func (p *opened) record(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, a := range e.Args {
			p.messages = append(p.messages, string(a.Value)+a.Description)
		}
	case *runtime.EventExceptionThrown:
		p.messages = append(p.messages, e.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		p.messages = append(p.messages, e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		p.messages = append(p.messages, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	}
}

// run runs an action in the page, and returns its result.
func run[T any](p *opened, action chromedp.Action[T]) T {
	p.t.Helper()
	result, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

func (p *opened) do(action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	run(p, action)
}

// call runs a command of the DevTools protocol in the page.
func call[P, R any](p *opened, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	return run(p, func(ctx context.Context, tab *chromedp.Target) (R, error) { return cdp.Call(ctx, tab, command, params) })
}

// js evaluates a function in the page and returns its result as text.
func (p *opened) js(function string, args ...any) string {
	p.t.Helper()
	list, err := json.Marshal(append([]any{}, args...))
	if err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprint(run(p, chromedp.Evaluate[any](fmt.Sprintf("(%s)(...%s)", function, list), chromedp.EvalAwaitPromise)))
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
func (p *opened) picture(dir, name string) { p.save(dir, name, chromedp.FullScreenshot(100)) }

// screen saves a screenshot of what is visible of the page.
func (p *opened) screen(dir, name string) { p.save(dir, name, chromedp.CaptureScreenshot()) }

func (p *opened) save(dir, name string, screenshot chromedp.Action[[]byte]) {
	p.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), run(p, screenshot), 0o644); err != nil {
		p.t.Error(err)
	}
}
