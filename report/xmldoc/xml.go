// Package xmldoc writes the XML of JUnit reports element by element, so that it needs memory for one element only. Texts that CI systems
// read as commands (##) are escaped. It knows neither the elements of the format nor reports, and removes no characters that XML does not
// allow: a value that has such characters has its own MarshalText.
package xmldoc

import (
	"bytes"
	"encoding"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"github.com/millhand/millhand/internal/text/printable"
)

// Writer writes an indented XML document element by element, and records the first error.
type Writer struct {
	w    io.Writer
	text bytes.Buffer // of the encoder, not written yet
	enc  *xml.Encoder
	Err  error // the first one
}

// NewWriter returns a writer that has written the declaration of the document.
func NewWriter(w io.Writer) *Writer {
	p := &Writer{w: w}
	p.enc = xml.NewEncoder(&p.text)
	p.enc.Indent("", "  ")
	p.Write([]byte(xml.Header))
	return p
}

// Put writes the start or the end of an element.
func (p *Writer) Put(t xml.Token) { p.encoded(p.enc.EncodeToken(t)) }

// Element writes an element with a name.
func (p *Writer) Element(name string, value any) {
	p.encoded(p.enc.EncodeElement(value, Start(name)))
}

// encoded writes what was encoded. Texts with commands of CIs are inside of one element.
func (p *Writer) encoded(err error) {
	if err == nil {
		err = p.enc.Flush()
	}
	if err != nil && p.Err == nil {
		p.Err = fmt.Errorf("encode JUnit report: %w", err)
	}
	p.Write(printable.EscapeHashes(p.text.Bytes(), "&#35;"))
	p.text.Reset()
}

// Write writes a text as it is.
func (p *Writer) Write(text []byte) {
	if p.Err != nil {
		return
	}
	if _, err := p.w.Write(text); err != nil {
		p.Err = fmt.Errorf("write JUnit report: %w", err)
	}
}

// Start returns the start of an element.
func Start(name string, attrs ...xml.Attr) xml.StartElement {
	return xml.StartElement{Name: xml.Name{Local: name}, Attr: attrs}
}

// Attr returns an attribute; the value's MarshalText always succeeds.
func Attr(name string, value encoding.TextMarshaler) xml.Attr {
	text, _ := value.MarshalText()
	return xml.Attr{Name: xml.Name{Local: name}, Value: string(text)}
}

// Number returns an attribute with a number.
func Number(name string, n int) xml.Attr {
	return xml.Attr{Name: xml.Name{Local: name}, Value: strconv.Itoa(n)}
}
