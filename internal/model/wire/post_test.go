package wire

import (
	"context"
	"net/http"
	"testing"
)

func TestHeadersDontReplaceThoseOfTheRequest(t *testing.T) {
	sent := http.Header{"Authorization": {"Bearer key"}}
	post := Post(func(_ context.Context, carry Carrier) (*http.Response, error) {
		return carry(&http.Request{Header: sent}, nil)
	})
	carry := func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		return nil, nil
	}
	for _, headers := range []map[string]string{nil, {"authorization": "Bearer other", "x-team": "shop"}} {
		if _, err := post.With(headers)(t.Context(), carry); err != nil { //nolint:bodyclose // it is nil
			t.Fatal(err)
		}
	}
	if len(sent) != 2 || sent.Get("Authorization") != "Bearer key" || sent.Get("X-Team") != "shop" {
		t.Errorf("sent %v", sent)
	}
}
