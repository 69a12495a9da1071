package xmldoc_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/report/xmldoc"
)

// text has its own form in attributes.
type text string

func (t text) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(t))), nil }

type element struct {
	Name text   `xml:"name,attr"`
	Text string `xml:",chardata"`
}

func TestWriterWritesElementsInOrder(t *testing.T) {
	var b bytes.Buffer
	w := xmldoc.NewWriter(&b)
	w.Put(xmldoc.Start("suites", xmldoc.Attr("name", text("a\"<b>")), xmldoc.Number("tests", 2)))
	w.Element("case", element{"one", "##[error]x & <y>\n"})
	w.Element("case", element{"two", ""})
	w.Put(xml.EndElement{Name: xml.Name{Local: "suites"}})
	w.Write([]byte("\n"))
	want := xml.Header + `<suites name="A&#34;&lt;B&gt;" tests="2">
  <case name="ONE">#&#35;[error]x &amp; &lt;y&gt;&#xA;</case>
  <case name="TWO"></case>
</suites>
`
	if got := b.String(); w.Err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", w.Err, got, want)
	}
	var back struct {
		Case []element `xml:"case"`
	}
	if err := xml.Unmarshal(b.Bytes(), &back); err != nil || back.Case[0].Text != "##[error]x & <y>\n" {
		t.Errorf("%v, %+v", err, back)
	}
}

// limited accepts a number of writes.
type limited struct {
	bytes.Buffer
	left int
}

var errFull = errors.New("disk full")

func (l *limited) Write(p []byte) (int, error) {
	if l.left--; l.left < 0 {
		return 0, errFull
	}
	return l.Buffer.Write(p)
}

func TestWriterStopsAtTheFirstError(t *testing.T) {
	out := &limited{left: 2}
	w := xmldoc.NewWriter(out)
	w.Put(xmldoc.Start("a"))
	if w.Err != nil {
		t.Fatal(w.Err)
	}
	w.Put(xmldoc.Start("b"))
	out.left = 1
	w.Put(xmldoc.Start("c"))
	if got := out.String(); !errors.Is(w.Err, errFull) || strings.Contains(got, "<b>") || strings.Contains(got, "<c>") {
		t.Errorf("%v, %s", w.Err, got)
	}
}

func TestWriterReportsElementsThatCannotBeEncoded(t *testing.T) {
	for name, put := range map[string]func(*xmldoc.Writer){
		"a value without a form": func(w *xmldoc.Writer) { w.Element("a", make(chan int)) },
		"an end without a start": func(w *xmldoc.Writer) { w.Put(xml.EndElement{Name: xml.Name{Local: "a"}}) },
	} {
		w := xmldoc.NewWriter(&bytes.Buffer{})
		put(w)
		if w.Err == nil || !strings.Contains(w.Err.Error(), "encode JUnit report: ") {
			t.Errorf("%s: %v", name, w.Err)
		}
	}
}
