package wire

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	usual := map[string]string{"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "millhand"}
	tests := []struct {
		name string
		o    Options
		api  API
		r    Request
		want map[string]string // in addition to the usual ones, which they replace
	}{
		{name: "the usual"},
		{name: "a user agent", o: Options{UserAgent: "millhand/1"}, want: map[string]string{"User-Agent": "millhand/1"}},
		{name: "a key", o: Options{APIKey: "k"}, want: map[string]string{"Authorization": "Bearer k"}},
		{name: "a key in its header", o: Options{APIKey: "k"}, api: API{KeyHeader: "api-key"}, want: map[string]string{"Api-Key": "k"}},
		{name: "a token", o: Options{APIKey: "k", Bearer: true}, api: API{KeyHeader: "api-key"}, want: map[string]string{"Authorization": "Bearer k"}},
		{name: "a version", api: API{Header: map[string]string{"Version": "1"}}, want: map[string]string{"Version": "1"}},
		{
			name: "the user's", o: Options{APIKey: "k", Header: map[string]string{"authorization": "Basic x", "version": "2", "accept": "*/*"}},
			api:  API{Header: map[string]string{"Version": "1"}},
			want: map[string]string{"Authorization": "Basic x", "Version": "2", "Accept": "*/*"},
		},
		{
			name: "a request's own", o: Options{Header: map[string]string{"session": "a"}}, r: Request{Header: map[string]string{"Session": "b"}},
			want: map[string]string{"Session": "b"},
		},
		{
			name: "added ones", o: Options{APIKey: "k"}, r: Request{Added: map[string]string{"authorization": "Bearer other", "x-team": "shop"}},
			want: map[string]string{"Authorization": "Bearer k", "X-Team": "shop"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := http.Header{}
			for _, all := range []map[string]string{usual, test.want} {
				for name, value := range all {
					want.Set(name, value)
				}
			}
			test.o.BaseURL = "http://model.test"
			if diff := cmp.Diff(want, NewEndpoint(test.o, test.api).post(t.Context(), test.r).Header); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	tests := []struct {
		base  string
		query map[string]string
		want  string // "" if the base URL is invalid
	}{
		{"https://h/v1", nil, "https://h/v1/chat"},
		{"https://h/v1//", nil, "https://h/v1/chat"},
		{"HTTP://h", nil, "http://h/chat"},
		{"https://me:pass@h:8/a%2Fb/https://c", nil, "https://me:pass@h:8/a%2Fb/https://c/chat"},
		{"https://h/v1/?x=1#y", map[string]string{"b": "é /", "a": ""}, "https://h/v1/chat?a=&b=%C3%A9+%2F"},
		{"", nil, "https://api.test/chat"},
		{"https://", nil, ""},
		{"https:///v1", nil, ""},
		{"h/v1", nil, ""},
		{"ftp://h", nil, ""},
		{"https://h/%zz", nil, ""},
	}
	for _, test := range tests {
		l := NewEndpoint(Options{BaseURL: test.base, Query: test.query}, API{BaseURL: "https://api.test", Path: "chat"})
		if test.want == "" {
			if l.refuse == nil {
				t.Errorf("%s: got %s, want an error", test.base, l.url)
			}
			continue
		}
		if l.refuse != nil || l.url.String() != test.want {
			t.Errorf("%s: got %s, error %v, want %s", test.base, l.url, l.refuse, test.want)
		}
	}
}
