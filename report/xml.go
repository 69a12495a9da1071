package report

import (
	"bytes"
	"encoding"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"github.com/millhand/millhand/internal/text/printable"
)

// xmlWriter writes an indented XML document element by element, and records the first error.
type xmlWriter struct {
	w    io.Writer
	text bytes.Buffer // of the encoder, not written yet
	enc  *xml.Encoder
	err  error
}

// newXMLWriter returns a writer that has written the declaration of the document.
func newXMLWriter(w io.Writer) *xmlWriter {
	p := &xmlWriter{w: w}
	p.enc = xml.NewEncoder(&p.text)
	p.enc.Indent("", "  ")
	p.write([]byte(xml.Header))
	return p
}

// put writes the start or the end of an element.
func (p *xmlWriter) put(t xml.Token) { p.encoded(p.enc.EncodeToken(t)) }

// element writes an element with a name.
func (p *xmlWriter) element(name string, value any) {
	p.encoded(p.enc.EncodeElement(value, start(name)))
}

// encoded writes what was encoded. Texts with commands of CIs are inside of one element.
func (p *xmlWriter) encoded(err error) {
	if err == nil {
		err = p.enc.Flush()
	}
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("encode JUnit report: %w", err)
	}
	p.write(printable.EscapeHashes(p.text.Bytes(), "&#35;"))
	p.text.Reset()
}

func (p *xmlWriter) write(text []byte) {
	if p.err != nil {
		return
	}
	if _, err := p.w.Write(text); err != nil {
		p.err = fmt.Errorf("write JUnit report: %w", err)
	}
}

func start(name string, attrs ...xml.Attr) xml.StartElement {
	return xml.StartElement{Name: xml.Name{Local: name}, Attr: attrs}
}

// attr returns an attribute; the value's MarshalText always succeeds.
func attr(name string, value encoding.TextMarshaler) xml.Attr {
	text, _ := value.MarshalText()
	return xml.Attr{Name: xml.Name{Local: name}, Value: string(text)}
}

func number(name string, n int) xml.Attr {
	return xml.Attr{Name: xml.Name{Local: name}, Value: strconv.Itoa(n)}
}
