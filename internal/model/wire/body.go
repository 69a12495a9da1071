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

// Body is a request's body, in parts that are not copied.
type Body [][]byte

// load makes b the body of r.
func (b Body) load(r *http.Request) {
	r.ContentLength = 0
	for _, chunk := range b {
		r.ContentLength += int64(len(chunk))
	}
	r.GetBody = func() (io.ReadCloser, error) {
		readers := make([]io.Reader, len(b))
		for i, chunk := range b {
			readers[i] = bytes.NewReader(chunk)
		}
		return io.NopCloser(io.MultiReader(readers...)), nil
	}
	r.Body, _ = r.GetBody() // as above, without an error
}

// Assemble puts the body of a streaming request together: under the name
// conversation the elements of said, then the fields of params, which must not
// be empty, and last the tools, if there are any. Elements stand each behind a
// comma, as [AppendElement] makes them.
//
// The same request gives the same bytes, and a conversation that grew begins as
// before, so that providers find it in their caches.
func Assemble(conversation string, said [][]byte, params json.Marshaler, tools []byte) (Body, error) {
	rest, err := params.MarshalJSON()
	if err != nil {
		return nil, err
	}
	body := Body{[]byte(`{"` + conversation + `":[`)}
	for _, chunk := range said {
		switch {
		case len(chunk) == 0:
		case len(body) == 1:
			body = append(body, chunk[1:])
		default:
			body = append(body, chunk)
		}
	}
	body = append(body, append([]byte("],"), rest[1:len(rest)-1]...))
	if len(tools) > 0 { // servers refuse an empty list
		body = append(body, []byte(`,"tools":[`), tools[1:], []byte("]"))
	}
	return append(body, []byte(`,"stream":true}`)), nil
}

// AppendElement appends a comma and the encoding of v.
func AppendElement(dst []byte, v json.Marshaler) ([]byte, error) {
	encoded, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append(append(dst, ','), encoded...), nil
}

// OmittedAttachment tells a model of an attachment that it does not get to see.
func OmittedAttachment(a model.Attachment) string {
	name := a.Name
	if name == "" {
		name = "a file"
	}
	return "\n\n[" + name + " (" + a.MIME + ") omitted: file type not supported by this model]"
}

// maxCacheKey is what OpenAI takes, which refuses a request for a longer one.
const maxCacheKey = 64

// CacheKey is a session's key for prompt caches as providers take it, the same
// for the same key.
func CacheKey(key string) string {
	if len(key) <= maxCacheKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
