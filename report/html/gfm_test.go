package html

import (
	"bytes"
	"testing"
)

func TestTablesAndDeletedText(t *testing.T) {
	for in, want := range map[string]string{
		"a | b\n--|--\n`c \\| d` | e \\| f | g\nh": "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>c | d</code></td>\n<td>e | f</td>\n</tr>\n<tr>\n<td>h</td>\n<td></td>\n</tr>\n</tbody>\n</table>\n",
		"text\n| a |\n|---|":                       "<p>text</p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n",
		"| a | b |\n|---|":                         "<p>| a | b |\n|---|</p>\n",
		"~~a **b**~~ ~c~ ~~~d~~~ ~ e ~":            "<p><del>a <strong>b</strong></del> <del>c</del> ~~~d~~~ ~ e ~</p>\n",
		"`a\\|b\nc`":                               "<p><code>a\\|b c</code></p>\n",
	} {
		var b bytes.Buffer
		if err := renderers().Convert([]byte(in), &b); err != nil || b.String() != want {
			t.Errorf("%q: got %q, want %q: %v", in, b.String(), want, err)
		}
	}
}
