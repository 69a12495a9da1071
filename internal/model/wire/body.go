package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"

	"github.com/millhand/millhand/internal/model"
)

// Body is a request's body as chunks, which are not copied.
type Body [][]byte

// load sets the body of r to b.
func (b Body) load(r *http.Request) {
	r.ContentLength = 0
	for _, chunk := range b {
		r.ContentLength += int64(len(chunk))
	}
	r.GetBody = func() (io.ReadCloser, error) { return &bodyReader{rest: b}, nil }
	r.Body, _ = r.GetBody() // as above, never an error
}

// bodyReader reads a body. Unlike that of [io.MultiReader] it has no WriteTo, for which
// net/http would allocate a large buffer at the end of each request.
type bodyReader struct {
	rest Body
	at   int // bytes read of the first chunk
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) && len(r.rest) > 0 {
		copied := copy(p[n:], r.rest[0][r.at:])
		n, r.at = n+copied, r.at+copied
		if r.at == len(r.rest[0]) {
			r.rest, r.at = r.rest[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close does nothing.
func (r *bodyReader) Close() error { return nil }

// Conversation is what was encoded for earlier requests already: messages and tools. Each element
// is preceded by a comma, as from [AppendElement].
type Conversation struct {
	Name  string   // of the list of messages
	Said  [][]byte // its elements
	Tools []byte   // the elements of the list of tools; nil for none
}

// with returns the body of a request: the conversation, then the fields that the SDK encoded,
// which are never none, then the tools.
//
// Equal requests have equal bytes, and an extended conversation has the previous one as
// its prefix, so that providers find it in their caches.
func (c Conversation) with(fields []byte) Body {
	body := Body{[]byte(`{"` + c.Name + `":[`)}
	for _, chunk := range c.Said {
		switch {
		case len(chunk) == 0:
		case len(body) == 1:
			body = append(body, chunk[1:])
		default:
			body = append(body, chunk)
		}
	}
	body = append(body, append([]byte("],"), unescape(fields[1:len(fields)-1])...))
	if len(c.Tools) > 0 { // servers reject an empty list
		body = append(body, []byte(`,"tools":[`), c.Tools[1:], []byte("]"))
	}
	return append(body, []byte("}"))
}

// AppendElement appends a comma and the encoding of v.
func AppendElement(dst []byte, v any) ([]byte, error) {
	encoded, err := encode(v)
	if err != nil {
		return nil, err
	}
	return append(append(dst, ','), encoded...), nil
}

// encode encodes v as JSON, without the escapes for HTML that the SDKs write: source code is full
// of these characters. NUL is U+FFFD there, because databases and proxies behind an API may refuse
// it, and with it every later request of the conversation.
func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return unescape(text), nil
}

// unescape removes the escapes of <, > and & from a JSON text, and replaces NUL, in place.
func unescape(text []byte) []byte {
	replaceNUL(text)
	out := text[:0]
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return append(out, text...)
		}
		out = append(out, text[:i]...)
		text = text[i:]
		size := min(6, len(text))
		switch string(text[:size]) {
		case `\u003c`:
			out = append(out, '<')
		case `\u003e`:
			out = append(out, '>')
		case `\u0026`:
			out = append(out, '&')
		default: // an escaped backslash starts no other escape
			out, size = append(out, text[:2]...), 2
		}
		text = text[size:]
	}
}

// replaceNUL replaces the escapes of NUL in a JSON text with those of U+FFFD, which are as long.
func replaceNUL(text []byte) {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\\')
		if i < 0 || at+i+1 >= len(text) {
			return
		}
		at += i + 2 // an escaped backslash starts no other escape
		if bytes.HasPrefix(text[at-1:], []byte("u0000")) {
			copy(text[at:], "fffd")
		}
	}
}

// OmittedAttachment is the text for an attachment that the model can't see.
func OmittedAttachment(a model.Attachment) string {
	name := a.Name
	if name == "" {
		name = "a file"
	}
	return "\n\n[" + name + " (" + a.MIME + ") omitted: file type not supported by this model]"
}

// maxCacheKey is OpenAI's limit; it rejects requests with longer keys.
const maxCacheKey = 64

// CacheKey returns a session's key for prompt caches in a form that providers accept. It
// is deterministic.
func CacheKey(key string) string {
	if len(key) <= maxCacheKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
