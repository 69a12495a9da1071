package web

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTextDecodesCharsets(t *testing.T) {
	tests := []struct{ name, contentType, body, want string }{
		{"UTF-8, as said", "text/html; charset=utf-8", "naïve", "naïve"},
		{"UTF-8, unsaid", "text/html", "naïve", "naïve"},
		{"UTF-8, unsaid, far from the beginning", "text/html", strings.Repeat("x", 5000) + "naïve", strings.Repeat("x", 5000) + "naïve"},
		{"Latin 1, as said", "text/plain; charset=ISO-8859-1", "na\xefve", "naïve"},
		{"Latin 1, unsaid", "text/plain", "na\xefve", "naïve"},
		{"a head's word", "text/html", `<meta charset="shift_jis">` + "\x93\xfa\x96\x7b", `<meta charset="shift_jis">日本`},
		{"UTF-16 by its mark", "text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"UTF-8 by its mark", "text/plain", "\xef\xbb\xbfhi", "hi"},
		{"a set that nobody knows", "text/plain; charset=klingon", "naïve", "naïve"},
		{"bytes that are wrong in their set", "text/plain; charset=utf-8", "a\xff\xfeb", "a\uFFFD\uFFFDb"},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Page{ContentType: tt.contentType, Body: []byte(tt.body)}.Text()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	tests := []struct{ name, html, want string }{
		{"headings and emphasis", "<h1>A</h1><p>one <b>two</b> <em>three</em></p>", "# A\n\none **two** *three*"},
		{"links become absolute", `<a href="/x?y#z">x</a> <img src="i.png" alt="i">`, "[x](https://example.com/x?y#z) ![i](https://example.com/i.png)"},
		{"lists, rules, code", "<ul><li>a<li>b</ul><hr><pre><code>x := 1\n  y</code></pre>", "- a\n- b\n\n---\n\n```\nx := 1\n  y\n```"},
		{"a table", "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>", "| k | v |\n|---|---|\n| a | 1 |"},
		{"no scripts, styles or heads", "<head><title>t</title><style>s</style></head><body><script>x</script><noscript>n</noscript>b</body>", "b"},
		{"nested too deep to be parsed", strings.Repeat("<div>", 5000) + "deep" + strings.Repeat("</div>", 5000), "deep"},
		{"lists in lists, too much to be indented", strings.Repeat("<ul><li>", 200) + strings.Repeat("<p>deep</p>", 10_000), strings.TrimSpace(strings.Repeat("deep\n\n", 10_000))},
		{"a table that spans a billion cells", "<table>" + strings.Repeat("<tr><td colspan=1000 rowspan=1000>x", 200), strings.Repeat("x", 200)},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.TrimSpace(Markdown(tt.html, "https://example.com/"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlainText(t *testing.T) {
	tests := []struct{ name, html, want string }{
		{"blocks are lines", "<p>one</p><p>two<br>three</p><div>four</div><div>five</div>", "one\n\ntwo\nthree\n\nfour\nfive"},
		{"white space is folded", "<p> a \n\t b <b>c</b>d <i> e</i></p>", "a b cd e"},
		{"but not in <pre>", "<pre>a\n  b\n\n c</pre>d", "a\n  b\n\n c\n\nd"},
		{"entities", "a &amp;&lt;&nbsp;&#x41; &amp;lt;", "a &< A &lt;"},
		{"what is no text", "a<script>if (a<b) x</script><style>p{}</style><noscript>n</noscript><iframe>i</iframe><object><object>o</object>o</object>b", "ab"},
		{"tables", "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"},
		{"what is never closed", "a<p>b<script>c", "a\n\nb"},
		{"what was never opened", "a</p></pre>b", "a\n\nb"},
		{"no HTML at all", "just text", "just text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(PlainText(tt.html), "\u00a0", " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"<p>a</p>", "<pre>x\n</pre", "<table><tr><td>a<td><table>", "<script>", "\xff<b>\x00", "<a href='//x'>y", strings.Repeat("<b><i>", 300)} {
		f.Add(s, "text/html; charset=utf-16")
	}
	f.Fuzz(func(t *testing.T, document, contentType string) {
		if len(document) > 1<<14 {
			return
		}
		text := Page{ContentType: contentType, Body: []byte(document)}.Text()
		for name, got := range map[string]string{"text": text, "plain": PlainText(text), "markdown": Markdown(text, "https://example.com/x")} {
			if !utf8.ValidString(got) {
				t.Errorf("%s is no UTF-8: %q", name, got)
			}
		}
	})
}
