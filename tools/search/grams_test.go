package search

import (
	"strings"
	"testing"
)

func TestGramsOfATextPass(t *testing.T) {
	text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 30) + "Zwölf Boxkämpfer\r\njagen Viktor quer über den großen Sylter Deich!\n")
	var table gramTable
	table.reset(int64(len(text)))
	table.add(text)
	g := table.fold()
	for start := range text {
		for end := start + 1; end <= min(start+40, len(text)); end++ {
			if n := (needs{any: []literal{{text: text[start:end]}}}); n.gramTests() != nil && !g.mayPass(n.gramTests()) {
				t.Fatalf("%q does not pass", text[start:end])
			}
		}
	}
	for _, absent := range []string{"nowhere", "needle", "NewStreaming", "Sylter Teich"} {
		if g.mayPass(needs{any: []literal{{text: []byte(absent)}}}.gramTests()) {
			t.Errorf("%q passes", absent)
		}
	}
	if (needs{any: []literal{{text: []byte("long enough")}, {text: []byte("abc")}}}).gramTests() != nil {
		t.Error("a literal of three letters has a test")
	}
	if grams(nil).mayPass(needs{any: []literal{{text: text[:4]}}}.gramTests()) {
		t.Error("a literal passes the empty filter")
	}
}
