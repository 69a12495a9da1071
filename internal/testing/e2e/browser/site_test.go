package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// site serves the website that .ci/site made. Each test fails if a page requests something from elsewhere.
func site(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MILLHAND_SITE")
	if dir == "" {
		t.Skip("MILLHAND_SITE, the directory of the website that .ci/site made, is not set")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL
}

// local checks that the page logged nothing and requested nothing from elsewhere.
func (p *opened) local(url string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.messages) > 0 {
		p.t.Errorf("messages in the console: %q", p.messages)
	}
	for _, request := range p.requests {
		if !strings.HasPrefix(request, url+"/") && !strings.HasPrefix(request, "data:") {
			p.t.Errorf("request to %s", request)
		}
	}
}

func TestSite(t *testing.T) {
	url := site(t)
	b := chromium(t)
	pictures := os.Getenv("MILLHAND_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	t.Run("anchors", func(t *testing.T) {
		p := open(t, b, url+"/docs/manifest.html", 1400, "light")
		page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "manifest.md"))
		if err != nil {
			t.Fatal(err)
		}
		keys := regexp.MustCompile("<a id=\"([^\"]+)\"></a>`([^`]+)`").FindAllStringSubmatch(string(page), -1)
		if len(keys) < 200 {
			t.Errorf("%d keys", len(keys))
		}
		for _, k := range keys {
			if got := p.js(`(id) => document.getElementById(id)?.querySelector("td").textContent`, k[1]); got != k[2] {
				t.Errorf("the anchor %s has %s, want %s", k[1], got, k[2])
			}
		}
		p.local(url)
	})
	t.Run("braces", func(t *testing.T) {
		p := open(t, b, url+"/docs/manifest.html", 1400, "light")
		if text := p.js(`() => document.querySelector("main").textContent`); !strings.Contains(text, "${{ vars.NAME }}") || !strings.Contains(text, `"${{ event.`) {
			t.Error("the page has evaluated what is between braces")
		}
	})
	t.Run("search", func(t *testing.T) {
		p := open(t, b, url+"/", 1400, "light")
		p.do(chromedp.Click("#local-search button"))
		p.do(chromedp.SendKeys("#localsearch-input", "limits.denials"))
		p.do(chromedp.WaitVisible(`a.result[href$="/docs/manifest.html#limits.denials"]`))
		p.screen(pictures, "site-search")
		p.do(chromedp.Click(`a.result[href$="/docs/manifest.html#limits.denials"]`))
		p.do(chromedp.WaitVisible(`tr[id="limits.denials"]`))
		p.local(url)
	})
	for name, path := range map[string]string{"front": "/", "how-to": "/docs/how-to.html", "tutorial": "/docs/tutorial.html"} {
		for _, width := range []int64{390, 1400} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				p := open(t, b, url+path, width, "light")
				p.screen(pictures, fmt.Sprintf("site-%s-%d", name, width))
				if got := p.js(`() => document.documentElement.scrollWidth - window.innerWidth`); got != "0" {
					t.Errorf("the page is %s pixels wider than the window", got)
				}
				axe(t, p)
				p.local(url)
			})
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 900, 1400} {
			t.Run(fmt.Sprintf("%s at %d", scheme, width), func(t *testing.T) {
				appearanceOfSite(t, open(t, b, url+"/docs/manifest.html", width, scheme), url, pictures, width < 960)
			})
		}
	}
}

// appearanceOfSite opens the menu of a page, on phones by its button.
func appearanceOfSite(t *testing.T, p *opened, url, pictures string, phone bool) {
	t.Helper()
	name := "site-" + strings.ReplaceAll(strings.SplitN(t.Name(), "/", 2)[1], "_", "-")
	shown := `() => document.querySelector('.VPSidebar a[href="/docs/getting-started.html"]').checkVisibility({visibilityProperty: true, opacityProperty: true})`
	if got := p.js(`() => document.documentElement.scrollWidth - window.innerWidth`); got != "0" {
		t.Errorf("the page is %s pixels wider than the window", got)
	}
	p.screen(pictures, name)
	p.js(`() => document.getElementById("tasks.commit.author").scrollIntoView()`)
	p.screen(pictures, name+"-key")
	if phone {
		if got := p.js(shown); got != "false" {
			t.Errorf("the menu is open at first: %s", got)
		}
		p.do(chromedp.Click(".VPLocalNav button.menu"))
		p.do(chromedp.WaitVisible(`.VPSidebar.open a[href="/docs/getting-started.html"]`))
		p.js(`() => Promise.all(document.getAnimations().map((a) => a.finished))`)
		p.screen(pictures, name+"-menu")
	}
	if got := p.js(shown); got != "true" {
		t.Errorf("the menu is not shown: %s", got)
	}
	p.js(`() => document.querySelector('.VPSidebar a[href="/docs/getting-started.html"]').click()`)
	p.do(chromedp.WaitVisible(`h1[id="getting-started"]`))
	axe(t, p)
	p.local(url)
}
