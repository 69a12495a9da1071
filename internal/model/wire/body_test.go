package wire

import (
	"io"
	"net/http"
	"testing"
	"testing/iotest"
)

// A body that is copied to a connection needs no memory besides the buffer of the connection.
func TestBodyIsReadInChunksOfAnySize(t *testing.T) {
	r := http.Request{}
	Body{[]byte(`{"a":[`), nil, []byte("1,2"), []byte("]}")}.load(&r)
	if r.ContentLength != 11 {
		t.Errorf("length %d, want 11", r.ContentLength)
	}
	for range 2 { // it is sent again after a redirect
		body, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(body, []byte(`{"a":[1,2]}`)); err != nil {
			t.Error(err)
		}
		if _, copies := body.(io.WriterTo); copies {
			t.Error("the body has WriteTo, for which net/http allocates a buffer")
		}
	}
}
